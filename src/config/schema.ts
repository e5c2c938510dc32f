// Checks the shape of a configuration file: known keys, each with a value of the right type.
// Whether a text is a valid duration or URL is checked later, for all layers alike. *Invariant:* no
// message quotes a value, because it may be a password.

import * as v from 'valibot';
import { ConfigError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { nearest } from '../text/suggestion.ts';
import { type ConfigKey, type KeyRow, keyTable, type TlsKey, tlsKeys } from './setting-table.ts';
import { kinds } from './values.ts';
import { type DataPath, renderPath, type YamlData } from './yaml.ts';

type TlsEntry = Readonly<Partial<Record<TlsKey, string | undefined>>>;

export interface MasterEntry {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly passwordFile?: string | undefined;
  readonly passwordCommand?: string | undefined;
  readonly passwordTtl?: string | number | undefined;
  readonly tls?: TlsEntry | undefined;
}

/** The data of a file that has passed the check. */
export type ConfigData = Readonly<Partial<Record<ConfigKey, unknown>>> & {
  readonly masters?: readonly (string | MasterEntry)[];
  readonly tls?: TlsEntry;
};

const messageOr = (expected: string) => (issue: { input: unknown }) =>
  issue.input === null ? 'has no value (give one, or remove the line)' : expected;
const text = v.string(messageOr(kinds.text.mistake));

const tls = v.strictObject(
  Object.fromEntries(tlsKeys.map((key) => [key, v.optional(text)])),
  messageOr('not a mapping (write caFile: and so on below it)'),
);
const master = v.strictObject(
  {
    url: text,
    username: v.optional(text),
    password: v.optional(text),
    passwordFile: v.optional(text),
    passwordCommand: v.optional(text),
    passwordTtl: v.optional(v.union([v.string(), v.number()], messageOr(kinds.span.mistake))),
    tls: v.optional(tls),
  },
  messageOr('neither a URL nor a mapping with a url'),
);
const masters = v.array(
  v.lazy((input) => (typeof input === 'string' ? text : master)),
  messageOr('not a list (write "- redis://host:6379" below it)'),
);

function schemaOf({ kind }: KeyRow): v.GenericSchema {
  if (kind === 'masters') return masters;
  if (kind === 'tls') return tls;
  const { scalar, mistake } = kinds[kind];
  if (scalar === null) return v.string(messageOr(mistake));
  return v.union([v.string(), scalar === 'number' ? v.number() : v.boolean()], messageOr(mistake));
}

const schema = v.strictObject(
  Object.fromEntries(keyTable.map((row) => [row.key, v.optional(schemaOf(row))])),
);
const knownKeys: Readonly<Record<string, readonly string[]>> = {
  '': keyTable.map((row) => row.key),
  masters: Object.keys(master.entries),
  tls: Object.keys(tls.entries),
};

/** @throws ConfigError with file, line and key of the first mistake */
export function checkConfig(path: string, yaml: YamlData): ConfigData {
  const result = v.safeParse(schema, yaml.data);
  if (result.success) return result.output as ConfigData;
  const [issue] = result.issues;
  const keyPath = (issue.path ?? []).map((step) => step.key as string | number);
  const where = `${path}:${yaml.lineOf(keyPath)}`;
  if (issue.type === 'strict_object' && issue.path?.at(-1)?.origin === 'key')
    throw new ConfigError(`${where}: ${wrongKey(issue, keyPath)}`);
  throw new ConfigError(`${where}: ${renderPath(keyPath)}: ${issue.message}`);
}

/** Keys with a value that runs a command or names a file with a secret. */
const commandsAndSecrets = ['onLost', 'notify', 'passwordCommand', 'passwordFile', 'keyFile'];

/**
 * @throws ConfigError for the first key that is allowed only in a file named by --config
 */
export function refuseCommandsAndSecrets(path: string, yaml: YamlData): void {
  const keyPath = yaml.keys.find((keys) => commandsAndSecrets.includes(String(keys.at(-1))));
  if (keyPath === undefined) return;
  const which = `${path}:${yaml.lineOf(keyPath)}: ${renderPath(keyPath)}`;
  const why = 'runs a command or reads a secret, and this file was only found';
  throw new ConfigError(`${which}: ${why} (name the file by --config to use it)`);
}

function wrongKey(issue: { expected: string | null }, keyPath: DataPath): string {
  if (issue.expected !== 'never') {
    const advice = keyPath.at(-1) === 'url' ? ' (write url: redis://host:6379)' : '';
    return `${renderPath(keyPath.slice(0, -1))}: ${keyPath.at(-1)} is missing${advice}`;
  }
  const word = String(keyPath.at(-1));
  const parent =
    keyPath
      .slice(0, -1)
      .filter((step) => typeof step === 'string')
      .at(-1) ?? '';
  const suggestion = nearest(word, knownKeys[parent] ?? []);
  const shown = [...keyPath.slice(0, -1), /^[\w-]{1,40}$/.test(word) ? word : quoted(word, 40)];
  const advice = suggestion === null ? 'see man redlockrc' : `did you mean ${suggestion}?`;
  return `${renderPath(shown)}: unknown key (${advice})`;
}
