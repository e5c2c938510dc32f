// The configuration file: found (the one that was named, else the first of the places searched; no
// other file is read), and read as a layer: its scalar keys as texts, its masters with the line of
// each. yaml.ts parses it, schema.ts checks its shape. The libraries of both are loaded only for a
// file with text in it: loading them takes longer than reading the file.

import { realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { callerId } from '../system/caller.ts';
import { ConfigError, fileError, isMissing } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import type { ExecutionContext } from './execution-context.ts';
import { type Given, type Layer, type MasterGiven, noLayer } from './layer.ts';
import { scalarKeys } from './setting-table.ts';
import { openTrusted, readDescriptor, readTextFile } from './text-file.ts';
import type { ConfigWarning } from './warning.ts';
import type { DataPath, YamlData } from './yaml.ts';

export interface FoundFile {
  readonly path: string;
  readonly text: string;
  /** Permission bits, as in stat(2). */
  readonly mode: number;
  /**
   * It was found in a directory that may be a checkout of foreign code: it may not run a command,
   * read a secret or show a variable of the environment.
   */
  readonly isConfined: boolean;
}

/**
 * The configuration file, or null when there is none. `flag`: the value of --config.
 * @throws ConfigError when a named file cannot be read, or a found one cannot be trusted or read
 */
export function findConfigFile(flag: string | null, around: ExecutionContext): FoundFile | null {
  const { REDLOCK_CONFIG, XDG_CONFIG_HOME } = around.environment;
  const { cwd, searchesParents = true, systemConfigFile = '/etc/redlockrc' } = around;
  if (flag !== null) return readNamed('--config', flag, cwd);
  if (REDLOCK_CONFIG) return readNamed('REDLOCK_CONFIG', REDLOCK_CONFIG, cwd);
  const home = absolute(around.home);
  const configHome = absolute(XDG_CONFIG_HOME);
  const settled = configHome ?? (home && join(home, '.config'));
  const paths = [
    ...(searchesParents ? foldersAbove(cwd, home) : []).map(fileIn),
    ...(settled === null ? [] : [join(settled, 'redlock-run', 'config.yaml')]),
    ...(home === null ? [] : [fileIn(home)]),
    systemConfigFile,
  ];
  for (const path of paths) {
    const opened = openTrusted(path);
    if (opened === null) continue;
    const bytes = reading('config', path, () => readDescriptor(opened.descriptor));
    const ownFolders = [home !== null && belongsToCaller(home) ? home : null, configHome];
    const folders = [...ownFolders, dirname(systemConfigFile)].filter((folder) => folder !== null);
    const isConfined = !folders.some((folder) => isInside(dirname(path), folder));
    return { path, mode: opened.mode, text: decode(bytes, path), isConfined };
  }
  return null;
}

function readNamed(subject: string, named: string, cwd: string): FoundFile {
  const path = resolve(cwd, named);
  const missing = new ConfigError(`${subject}: ${quoted(named)}: no such file (name a YAML file)`);
  if (named === '') throw missing;
  return reading(
    subject,
    path,
    () => {
      const { mode } = statSync(path);
      return { path, mode, text: decode(readTextFile(path), path), isConfined: false };
    },
    missing,
  );
}

/**
 * The folder and its parents, nearest first: up to the home directory when that is one of them, and
 * not across a file system boundary. The search ends at a folder that may not be entered.
 */
function foldersAbove(folder: string, home: string | null): string[] {
  const last = home === null ? null : realPath(home);
  const folders: string[] = [];
  let device: number | null = null;
  for (let next = folder; ; next = dirname(next)) {
    const found = deviceOf(next);
    if (found === null || (device !== null && found !== device)) return folders;
    device = found;
    folders.push(next);
    if (next === last || dirname(next) === next) return folders;
  }
}

/** The device number of a folder; null: it may not be entered. */
function deviceOf(folder: string): number | null {
  try {
    return statSync(`${folder}/.`).dev;
  } catch {
    return null;
  }
}

/** Never true for /: every file is inside of it, so it does not make a file trusted. */
function isInside(folder: string, parent: string): boolean {
  const [real, realParent] = [realPath(folder), realPath(parent)];
  return realParent !== '/' && (real === realParent || real.startsWith(`${realParent}/`));
}

function belongsToCaller(folder: string): boolean {
  const caller = callerId();
  try {
    return caller === null || statSync(folder).uid === caller;
  } catch {
    return false;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function fileIn(folder: string): string {
  return join(folder, '.redlockrc');
}

function absolute(path: string | undefined): string | null {
  return path && isAbsolute(path) ? resolve(path) : null;
}

/** `missing`: the error for a file that does not exist. */
function reading<Result>(
  subject: string,
  path: string,
  read: () => Result,
  missing: ConfigError | null = null,
): Result {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    if (isMissing(error) && missing !== null) throw missing;
    const why = fileError(error, 'read');
    throw new ConfigError(`${subject}: ${path}: ${why} (name a readable YAML file by --config)`);
  }
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(`${path}: not a YAML file: not text in UTF-8`);
  }
}

export interface ConfigFile {
  readonly path: string;
  readonly layer: Layer;
  readonly minorWarnings: readonly ConfigWarning[];
}

/** @throws ConfigError with file, line and key */
export async function readConfigFile(
  file: FoundFile,
  environment: NodeJS.ProcessEnv,
): Promise<ConfigFile> {
  const base = dirname(file.path);
  if (file.text.trim() === '') return { path: file.path, layer: noLayer, minorWarnings: [] };
  const { parseYaml, renderPath } = await import('./yaml.ts');
  const { checkConfig, refuseCommandsAndSecrets } = await import('./schema.ts');
  const visible = file.isConfined ? /^REDLOCK_/ : /^/;
  const yaml = parseYaml(file.path, file.text, environment, visible);
  if (file.isConfined) refuseCommandsAndSecrets(file.path, yaml);
  const data = checkConfig(file.path, yaml);
  const sourceOf = (...path: DataPath) => `${file.path}:${yaml.lineOf(path)}`;
  const givenAt = (value: unknown, ...path: DataPath): Given => {
    const source = sourceOf(...path);
    const subject = `${source}: ${renderPath(path)}`;
    return { text: String(value), layer: 'file', source, subject, base };
  };
  /** The fields of a mapping at this path, each with its place. */
  const fieldsAt = (data: object, ...path: DataPath) =>
    Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, givenAt(value, ...path, key)]),
    );
  const masters = (data.masters ?? []).map((entry, index): MasterGiven => {
    const { url, tls = {}, ...own } = typeof entry === 'string' ? { url: entry } : entry;
    const path = ['masters', index] as const;
    const login = fieldsAt(own, ...path);
    return { ...givenAt(url, ...path), login, tls: fieldsAt(tls, ...path, 'tls') };
  });
  const layer: Layer = {
    name: 'file',
    values: new Map(
      scalarKeys.flatMap((key) => (key in data ? [[key, givenAt(data[key], key)]] : [])),
    ),
    tls: fieldsAt(data.tls ?? {}, 'tls'),
    masters,
    mastersSource: sourceOf('masters'),
  };
  return { path: file.path, layer, minorWarnings: warningsAbout(file, yaml) };
}

function warningsAbout(file: FoundFile, yaml: YamlData): ConfigWarning[] {
  const isReadableByOthers = (file.mode & 0o044) !== 0;
  if (!isReadableByOthers || !yaml.literals.some(holdsPassword)) return [];
  return [
    {
      kind: 'exposed-secret',
      file: file.path,
      message: 'holds a password and is readable by others',
      advice: 'chmod 600 it, or use passwordFile',
    },
  ];
}

function holdsPassword({ path, text }: { path: DataPath; text: string }): boolean {
  if (path.at(-1) === 'password') return !text.includes('${');
  const password = path[0] === 'masters' ? /:\/\/[^:@/]*:(.+)@/.exec(text)?.[1] : undefined;
  return password !== undefined && !password.includes('${');
}
