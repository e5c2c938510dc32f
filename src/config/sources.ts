// The layers of the settings: flag, environment, file, default, in this order of precedence. They
// are asked for one key at a time. Masters have rules of their own: masters.ts. *Note:* a key that
// a program does not ask for is not read, so a bad value for one program does not stop the other. A
// bad value that another layer hides is an error all the same: it would show on the day when the
// flag is left out.

import { dirname } from 'node:path';
import { workingFolder } from '../system/working-folder.ts';
import { ConfigError, UsageError, ValueError } from '../text/errors.ts';
import { nearest } from '../text/suggestion.ts';
import type { OptionValues } from './arguments.ts';
import { type ConfigFile, findConfigFile, readConfigFile } from './file.ts';
import type { Given, Layer, LayerName, Place } from './layer.ts';
import {
  environmentName,
  isScalarKey,
  keyRow,
  keyTable,
  type ScalarKey,
  type TlsKey,
  tlsKeys,
} from './setting-table.ts';
import { readText, suspicionOfTtl } from './values.ts';

/** The environment and the directories that a program is started in. */
export interface ExecutionContext {
  readonly environment: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** $HOME; where ~/.redlockrc is looked for. */
  readonly home: string | undefined;
  /** The last place to look for a configuration: /etc/redlockrc, except in tests. */
  readonly systemConfigFile?: string;
  /**
   * False: the working directory and its parents are not searched. Completion does not search them,
   * because it runs before the user has run anything there. Default: true.
   */
  readonly searchesParents?: boolean;
}

const scalarKeys: readonly ScalarKey[] = keyTable.map((row) => row.key).filter(isScalarKey);

export interface MasterSources {
  readonly options: Layer;
  readonly masterOptions: readonly string[];
  readonly environment: Layer;
  /** $REDLOCK_MASTERS: URLs separated by commas. */
  readonly variable: string | undefined;
  /** The environment twins of the keys under `tls`. */
  readonly tlsVariables: Readonly<Partial<Record<TlsKey, Given>>>;
  readonly file: ConfigFile | null;
  /** Where relative paths of the configuration file start. */
  readonly fileBase: string;
  readonly cwd: string;
}

export class Sources {
  readonly file: ConfigFile | null;
  /**
   * By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. Grows with
   * every key asked for.
   */
  readonly named: Record<string, string> = {};
  readonly #options: OptionValues;
  readonly #around: ExecutionContext;
  readonly #optionLayer: Layer;
  readonly #variables: Layer;
  /** In the order of precedence. */
  readonly #layers: readonly Layer[];

  private constructor(options: OptionValues, around: ExecutionContext, file: ConfigFile | null) {
    this.file = file;
    this.#options = options;
    this.#around = around;
    this.#optionLayer = optionLayer(options, around.cwd);
    this.#variables = variablesFor(scalarKeys, around.environment, around.cwd);
    this.#layers = [this.#optionLayer, this.#variables, file?.layer ?? new Map()];
  }

  /** @throws ConfigError (78) when the configuration file cannot be read */
  static async read(options: OptionValues, around: ExecutionContext): Promise<Sources> {
    const found = await findConfigFile({
      flag: options.config,
      variable: variableIn(around.environment, 'REDLOCK_CONFIG'),
      cwd: around.cwd,
      searchesParents: around.searchesParents ?? true,
      home: around.home,
      configHome: around.environment.XDG_CONFIG_HOME,
      systemFile: around.systemConfigFile ?? '/etc/redlockrc',
    });
    return new Sources(
      options,
      around,
      found === null ? null : await readConfigFile(found, around.environment),
    );
  }

  /**
   * Settings that are valid but most likely not meant: one line each, printed unless -q is given.
   */
  get warnings(): string[] {
    const ttl = choose(this.#layers, 'ttl', readText)?.given ?? null;
    const suspicion = ttl && suspicionOfTtl(ttl.text);
    return [
      ...misspeltVariables(this.#around.environment),
      ...(ttl && suspicion ? [`${ttl.subject}: ${suspicion}`] : []),
    ];
  }

  /** The value that wins, or null without one. @throws UsageError (64), ConfigError (78) */
  readonly get = <Value>(key: ScalarKey, read: (text: string) => Value): Chosen<Value> | null => {
    const chosen = choose(this.#layers, key, read);
    this.named[key] = chosen?.source ?? 'default';
    return chosen;
  };

  /** The same for a key that has a default. */
  readonly must = <Value>(key: ScalarKey, read: (text: string) => Value): Value => {
    const chosen = this.get(key, read);
    if (chosen === null) throw new TypeError(`no default: ${key}`);
    return chosen.value;
  };

  /** The layers, as far as they concern the masters. */
  get ofMasters(): MasterSources {
    const { cwd, environment } = this.#around;
    return {
      options: this.#optionLayer,
      masterOptions: this.#options.masters,
      environment: this.#variables,
      variable: variableIn(environment, 'REDLOCK_MASTERS'),
      tlsVariables: Object.fromEntries(variablesFor(tlsKeys, environment, cwd)),
      file: this.file,
      fileBase: this.file === null ? cwd : dirname(this.file.path),
      cwd,
    };
  }
}

/** The value with the highest precedence, and its source; `layer` is null for a default. */
export interface Chosen<Value> {
  readonly value: Value;
  readonly layer: LayerName | null;
  readonly source: string;
  readonly given: Given | null;
}

/**
 * Reads a key in all layers, given in order of precedence; null when no layer and no default has
 * it.
 * @throws UsageError for a bad flag, ConfigError for a bad value in the environment or the file
 */
export function choose<Value>(
  layers: readonly Layer[],
  key: ScalarKey,
  read: (text: string) => Value,
): Chosen<Value> | null {
  const found = layers
    .map((layer) => layer.get(key))
    .filter((given) => given !== undefined)
    .map((given) => ({
      value: readGiven(given, read),
      layer: given.layer,
      source: given.source,
      given,
    }));
  if (found[0] !== undefined) return found[0];
  const standard = keyRow(key).default;
  return standard === null
    ? null
    : { value: read(standard), layer: null, source: 'default', given: null };
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

/** What the environment gives: the twins of these keys that are set. */
function variablesFor<Key extends ScalarKey | TlsKey>(
  keys: readonly Key[],
  environment: NodeJS.ProcessEnv,
  cwd: string,
): Map<Key, Given> {
  const layer = new Map<Key, Given>();
  for (const key of keys) {
    const subject = environmentName(key);
    const text = variableIn(environment, subject);
    if (text !== undefined && !isFactOfHook(subject, environment))
      layer.set(key, {
        text,
        layer: 'environment',
        source: `environment ${subject}`,
        subject,
        base: cwd,
      });
  }
  return layer;
}

/** In a hook, REDLOCK_SIGNAL is the signal that the command died of, and no stop signal. */
function isFactOfHook(name: string, { REDLOCK_EVENT }: NodeJS.ProcessEnv): boolean {
  return name === 'REDLOCK_SIGNAL' && REDLOCK_EVENT !== undefined;
}

/** The error for a bad value: exit 64 for a flag, 78 for environment and file. */
export function errorWith({ layer, subject }: Place, why: string): UsageError | ConfigError {
  const message = `${subject}: ${why}`;
  return layer === 'flag' ? new UsageError(message) : new ConfigError(message);
}

/**
 * The error for values that contradict one another, with the place of each: exit 64 when one is on
 * the command line, else 78. `places`: null for a default.
 */
export function conflictOf(
  places: readonly (Place | null | undefined)[],
  why: string,
): UsageError | ConfigError {
  const given = places.filter((place) => place !== null && place !== undefined);
  const layer = given.some((place) => place.layer === 'flag') ? 'flag' : 'file';
  return errorWith({ layer, subject: given.map((place) => place.subject).join(': with ') }, why);
}

function readGiven<Value>(given: Given, read: (text: string) => Value): Value {
  try {
    return read(given.text);
  } catch (error) {
    if (error instanceof ValueError) throw errorWith(given, error.message);
    throw error;
  }
}

function optionLayer(options: OptionValues, cwd: string): Layer {
  const layer = new Map<ScalarKey, Given>();
  for (const [key, { text, option }] of options.values) {
    layer.set(key, { text, layer: 'flag', source: `flag ${option}`, subject: option, base: cwd });
  }
  return layer;
}

const settings = [
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
    .filter((name) => !settings.includes(name) && !givenToOthers.test(name))
    .flatMap((name) => {
      const meant = nearest(name, settings, 2);
      return meant === null ? [] : [`${name.slice(0, 80)}: not a setting (did you mean ${meant}?)`];
    });
}

/** @throws ConfigError when the working directory has been removed */
export function executionContext(environment: NodeJS.ProcessEnv): ExecutionContext {
  const cwd = workingFolder();
  if (cwd === null)
    throw new ConfigError('working directory: it has been removed (go to one that is there)');
  return { environment, cwd, home: environment.HOME };
}
