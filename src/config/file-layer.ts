// The data of a configuration file as a layer: its values as texts, with the line of each. Checks
// its shape: known keys, each with a value of the right type. Whether a text is a valid duration or
// URL is checked later, for all layers alike. *Invariant:* no message quotes a value, because it
// may be a password.

import { dirname } from 'node:path';
import { ConfigError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { nearest } from '../text/suggestion.ts';
import type { Given, GivenValues, Layer, MasterGiven } from './layer.ts';
import { keyTable, kindOf, loginKeys, scalarKeys, tlsKeys } from './setting-table.ts';
import { type Kind, kinds } from './values.ts';
import { type DataPath, renderPath, type YamlData } from './yaml.ts';

/** The keys of a mapping, and the message for a value that is none. */
interface Shape {
  readonly keys: readonly string[];
  readonly mistake: string;
}

const file: Shape = { keys: keyTable.map(({ key }) => key), mistake: 'not a mapping' };
const master: Shape = {
  keys: ['url', ...loginKeys],
  mistake: 'neither a URL nor a mapping with a url',
};
const tls: Shape = {
  keys: tlsKeys,
  mistake: 'not a mapping (write caFile: and so on below it)',
};

const scalarKinds: Readonly<Record<string, Pick<Kind<unknown>, 'scalar' | 'mistake'>>> = {
  ...Object.fromEntries(scalarKeys.map((key) => [key, kindOf(key)])),
  ...Object.fromEntries(['url', ...tlsKeys].map((key) => [key, kinds.text])),
};

/** Keys with a value that runs a command or names a file with a secret. */
const commandsAndSecrets = ['onLost', 'notify', 'passwordCommand', 'passwordFile', 'keyFile'];

export class FileLayer implements Layer {
  readonly name = 'file';
  readonly values: GivenValues;
  readonly masters: readonly MasterGiven[];
  readonly mastersSource: string;
  readonly #path: string;
  readonly #yaml: YamlData;
  readonly #isConfined: boolean;

  /**
   * `isConfined`: it may not run a command or read a secret.
   * @throws ConfigError with file, line and key
   */
  constructor(path: string, yaml: YamlData, isConfined: boolean) {
    this.#path = path;
    this.#yaml = yaml;
    this.#isConfined = isConfined;
    const { masters = [], ...others } = this.#mapping(yaml.data, file, []);
    this.values = this.#values(others, []);
    if (!Array.isArray(masters))
      throw this.#fault(masters, ['masters'], 'not a list (write "- redis://host:6379" below it)');
    this.masters = masters.map((entry, index) => this.#master(entry, ['masters', index]));
    this.mastersSource = this.#sourceOf(['masters']);
  }

  #master(entry: unknown, at: DataPath): MasterGiven {
    if (typeof entry === 'string') return { ...this.#given(entry, at), own: {} };
    const { url, ...others } = this.#mapping(entry, master, at);
    if (url === undefined)
      throw this.#fault(url, at, 'url is missing (write url: redis://host:6379)');
    const { text } = this.#scalar(url, [...at, 'url']);
    return { ...this.#given(text, at), own: this.#values(others, at) };
  }

  /** The scalars of a mapping, and of its `tls`. */
  #values({ tls: nested = {}, ...scalars }: Record<string, unknown>, at: DataPath): GivenValues {
    const scalarsAt = (data: Record<string, unknown>, path: DataPath) =>
      Object.entries(data).map(([key, value]) => [key, this.#scalar(value, [...path, key])]);
    const tlsAt = [...at, 'tls'];
    return Object.fromEntries([
      ...scalarsAt(scalars, at),
      ...scalarsAt(this.#mapping(nested, tls, tlsAt), tlsAt),
    ]);
  }

  #mapping(data: unknown, { keys, mistake }: Shape, at: DataPath): Record<string, unknown> {
    if (typeof data !== 'object' || data === null || Array.isArray(data))
      throw this.#fault(data, at, mistake);
    for (const key of Object.keys(data)) {
      if (!keys.includes(key)) throw this.#unknownKey(key, keys, at);
      if (this.#isConfined && commandsAndSecrets.includes(key)) {
        const why = 'runs a command or reads a secret, and this file was only found';
        throw this.#fault(data, [...at, key], `${why} (name the file by --config to use it)`);
      }
    }
    return { ...data };
  }

  #scalar(value: unknown, at: DataPath): Given {
    const { scalar = null, mistake = '' } = scalarKinds[String(at.at(-1))] ?? {};
    if ((typeof value !== 'string' && typeof value !== scalar) || Number.isNaN(value))
      throw this.#fault(value, at, mistake);
    return this.#given(value, at);
  }

  #given(value: unknown, at: DataPath): Given {
    const source = this.#sourceOf(at);
    const subject = `${source}: ${renderPath(at)}`;
    return { text: String(value), layer: 'file', source, subject, base: dirname(this.#path) };
  }

  #sourceOf(at: DataPath): string {
    return `${this.#path}:${this.#yaml.lineOf(at)}`;
  }

  #unknownKey(key: string, keys: readonly string[], at: DataPath): ConfigError {
    const meant = nearest(key, keys);
    const advice = meant === null ? 'see man redlockrc' : `did you mean ${meant}?`;
    const shown = /^[\w-]{1,40}$/.test(key) ? key : quoted(key, 40);
    return this.#fault(key, [...at, shown], `unknown key (${advice})`, [...at, key]);
  }

  /** `value`: what is wrong; `line`: the path of its line. */
  #fault(value: unknown, at: DataPath, mistake: string, line = at): ConfigError {
    const why = value === null ? 'has no value (give one, or remove the line)' : mistake;
    return new ConfigError(`${this.#sourceOf(line)}: ${renderPath(at)}: ${why}`);
  }
}
