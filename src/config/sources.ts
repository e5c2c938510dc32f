// The layers of the settings: flag, environment, file, default, in this order of precedence.
// Masters have rules of their own: masters.ts. *Note:* a program reads only the keys that it uses,
// so a bad value for one program does not stop the other. A bad value is an error even where a
// nearer layer hides it: otherwise it would show on the day when the flag is left out.

import { nearest } from '../text/suggestion.ts';
import type { OptionValues } from './arguments.ts';
import type { ExecutionContext } from './execution-context.ts';
import { type ConfigFile, findConfigFile, readConfigFile } from './file.ts';
import {
  type ConfigWarning,
  type Given,
  type Layer,
  noLayer,
  parseGiven,
  urlMasters,
} from './layer.ts';
import {
  environmentName,
  fieldOf,
  keyRow,
  keyTable,
  kindOf,
  type SettingKey,
  scalarKeys,
  tlsKeys,
  type ValueOf,
  type ValuesOf,
} from './setting-table.ts';
import { suspicionOfTtl } from './values.ts';

/** The value that wins; null without one. */
export interface Chosen<Value> {
  readonly value: Value;
  /** null: it is the default. */
  readonly given: Given | null;
}

export class Sources {
  readonly layers: readonly [flag: Layer, environment: Layer, file: Layer];
  readonly file: ConfigFile | null;
  /**
   * By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. Grows with
   * every key asked for.
   */
  readonly named: Record<string, string> = {};
  /** Most likely not meant, though valid: one line each, printed unless -q is given. */
  readonly warnings: string[];
  readonly minorWarnings: ConfigWarning[];

  private constructor(flags: Layer, around: ExecutionContext, file: ConfigFile | null) {
    this.file = file;
    this.layers = [flags, environmentLayer(around), file?.layer ?? noLayer];
    const ttl = this.get('ttl').given;
    const suspicion = ttl && suspicionOfTtl(ttl.text);
    this.warnings = misspeltVariables(around.environment);
    if (suspicion !== null) this.warnings.push(`${ttl?.subject}: ${suspicion}`);
    this.minorWarnings = [...(file?.minorWarnings ?? [])];
  }

  /** Adds a warning that is printed with -v; once for a file that serves several masters. */
  readonly warn = (warning: ConfigWarning): void => {
    const { file, kind } = warning;
    if (!this.minorWarnings.some((one) => one.file === file && one.kind === kind))
      this.minorWarnings.push(warning);
  };

  /** @throws ConfigError (78) when the configuration file cannot be read */
  static async read(options: OptionValues, around: ExecutionContext): Promise<Sources> {
    const found = findConfigFile(options.config, around);
    const file = found && (await readConfigFile(found, around.environment));
    return new Sources(options.layer, around, file);
  }

  /** @throws UsageError (64), ConfigError (78) for a bad value in any layer */
  get<Key extends SettingKey>(key: Key): Chosen<ValueOf<Key>> {
    const parse: (text: string, base?: string) => unknown = kindOf(key).parse;
    const [chosen] = this.layers
      .flatMap(({ values }) => values[key] ?? [])
      .map((given) => ({ value: parseGiven(given, parse), given }));
    this.named[key] = chosen?.given.source ?? 'default';
    const text = keyRow(key).default;
    const byDefault = { value: text === undefined ? null : parse(text), given: null };
    return (chosen ?? byDefault) as Chosen<ValueOf<Key>>;
  }

  /** The values of these keys, by field. @throws UsageError (64), ConfigError (78) */
  values<Key extends SettingKey>(keys: readonly Key[]): ValuesOf<Key> {
    const entries = keys.map((key) => [fieldOf(key), this.get(key).value]);
    return Object.fromEntries(entries) as ValuesOf<Key>;
  }
}

function environmentLayer({ environment, cwd: base }: ExecutionContext): Layer {
  const entries = [...scalarKeys, ...tlsKeys].flatMap((key): [string, Given][] => {
    const subject = environmentName(key);
    const text = variableIn(environment, subject);
    if (text === undefined || isFactOfHook(subject, environment)) return [];
    return [[key, { text, layer: 'environment', source: `environment ${subject}`, subject, base }]];
  });
  const urls = urlsIn(variableIn(environment, 'REDLOCK_MASTERS') ?? '');
  return {
    name: 'environment',
    values: Object.fromEntries(entries),
    masters: urlMasters(urls, 'environment', 'REDLOCK_MASTERS'),
    mastersSource: 'environment REDLOCK_MASTERS',
  };
}

const variablesThatMayBeEmpty = keyTable
  .filter((row) => row.mayBeEmpty)
  .map(({ key }) => environmentName(key));

/**
 * The text of a setting's variable. An empty one counts as unset, because CI systems and systemd
 * leave variables empty that have no value, unless empty text is a value of that setting.
 */
function variableIn(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = environment[name];
  return text === '' && !variablesThatMayBeEmpty.includes(name) ? undefined : text;
}

/** In a hook, REDLOCK_SIGNAL is the signal that the command died of, and no stop signal. */
function isFactOfHook(name: string, { REDLOCK_EVENT }: NodeJS.ProcessEnv): boolean {
  return name === 'REDLOCK_SIGNAL' && REDLOCK_EVENT !== undefined;
}

/** The URLs of a list; one of sentinels reaches to the first comma after its /NAME. */
function urlsIn(list: string): string[] {
  const urls: string[] = [];
  for (let rest = list; rest !== ''; ) {
    const [, start = ''] = /^(\s*(?:rediss?|valkeys?)\+sentinel:\/\/[^/]*)/i.exec(rest) ?? [];
    const comma = rest.indexOf(',', start.length);
    urls.push((comma < 0 ? rest : rest.slice(0, comma)).trim());
    if (comma < 0) break;
    rest = rest.slice(comma + 1);
    if (rest === '') urls.push('');
  }
  return urls;
}

const variableNames = [
  ...[...keyTable.map(({ key }) => key), ...tlsKeys].map(environmentName),
  'REDLOCK_CONFIG',
];

/** Variables that redlock-run itself sets for commands, guards and hooks. */
const givenToOthers = new RegExp(
  '^REDLOCK_(NAMES?|TOKEN|FENCE|SLOT|TTL_MS|HELD|HELD_LEASES|GUARD\\w*|RUN_\\w*|' +
    'EVENT|HOLDER|OUTCOME|STATUS|WAIT_MS|LOST|BY)$',
);

/** One line for each variable that differs by at most two letters from a known one. */
function misspeltVariables(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('REDLOCK_'))
    .filter((name) => !variableNames.includes(name) && !givenToOthers.test(name))
    .flatMap((name) => {
      const meant = nearest(name, variableNames, 2);
      return meant === null ? [] : [`${name.slice(0, 80)}: not a setting (did you mean ${meant}?)`];
    });
}
