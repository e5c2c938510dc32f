// The layers of one program start, read from where they are: flags, environment, configuration
// file. It answers for one key at a time and remembers what it answered. A key that a program
// never asks for is never read, so a bad value for one program is no trouble of the other's.

import { dirname } from 'node:path';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { findConfigFile } from './config-search.ts';
import type { Flags } from './flags.ts';
import { isScalarKey, keyTable, type ScalarKey } from './key-table.ts';
import { type Chosen, choose, environmentLayer, type Given, type Layer } from './layers.ts';
import { type ChosenMasters, chooseMasters } from './masters.ts';
import { readText, suspicionOfTtl } from './values.ts';
import { misspeltVariables } from './variables.ts';

/** What a program is started in. */
export interface Surroundings {
  readonly environment: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** $HOME; where ~/.redlockrc is looked for. */
  readonly home: string | undefined;
  /** The last place to look for a configuration: /etc/redlockrc unless a test says otherwise. */
  readonly systemConfigFile?: string;
  /**
   * False: no configuration is looked for in the working directory or above it, as for completion,
   * which reads what stands there before anything has been asked for. Default: true.
   */
  readonly searchesParents?: boolean;
}

const scalarKeys: readonly ScalarKey[] = keyTable.map((row) => row.key).filter(isScalarKey);

export class Sources {
  readonly file: ConfigFile | null;
  /**
   * By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. Grows with
   * every key asked for.
   */
  readonly named: Record<string, string> = {};
  readonly #flags: Flags;
  readonly #around: Surroundings;
  readonly #flagLayer: Layer;
  readonly #variables: Layer;
  /** In the order of precedence. */
  readonly #layers: readonly Layer[];

  private constructor(flags: Flags, around: Surroundings, file: ConfigFile | null) {
    this.file = file;
    this.#flags = flags;
    this.#around = around;
    this.#flagLayer = flagLayer(flags, around.cwd);
    this.#variables = environmentLayer(scalarKeys, around.environment, around.cwd);
    this.#layers = [this.#flagLayer, this.#variables, file?.layer ?? new Map()];
  }

  /** @throws ConfigError (78) when the configuration file cannot be read */
  static async read(flags: Flags, around: Surroundings): Promise<Sources> {
    const found = await findConfigFile({
      flag: flags.config,
      variable: around.environment.REDLOCK_CONFIG,
      cwd: around.cwd,
      searchesParents: around.searchesParents ?? true,
      home: around.home,
      configHome: around.environment.XDG_CONFIG_HOME,
      systemFile: around.systemConfigFile ?? '/etc/redlockrc',
    });
    return new Sources(flags, around, found === null ? null : await readConfigFile(found, around.environment));
  }

  /** What is taken, and most likely was not meant: one line each, for everyone to see. */
  get cautions(): string[] {
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

  /** @throws UsageError (64), ConfigError (78) */
  masters(): Promise<ChosenMasters> {
    const { cwd, environment } = this.#around;
    return chooseMasters({
      flags: this.#flagLayer,
      masterFlags: this.#flags.masters,
      environment: this.#variables,
      variable: environment.REDLOCK_MASTERS,
      file: this.file,
      fileBase: this.file === null ? cwd : dirname(this.file.path),
      cwd,
    });
  }
}

function flagLayer(flags: Flags, cwd: string): Layer {
  const layer = new Map<ScalarKey, Given>();
  for (const [key, { text, option }] of flags.values) {
    layer.set(key, { text, layer: 'flag', source: `flag ${option}`, subject: option, base: cwd });
  }
  return layer;
}
