// The configuration file: found (the one that was named, else the first of the places searched; no
// other file is read), and read as a layer: its scalar keys as texts, its masters with the line of
// each. yaml.ts parses it, and file-layer.ts checks its shape. Both are loaded only for a file with
// text in it: loading the library takes longer than reading the file.

import { realpathSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { callerId } from '../system/caller.ts';
import { ConfigError, fileError, isMissing } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import type { ExecutionContext } from './execution-context.ts';
import { type ConfigWarning, type Layer, noLayer } from './layer.ts';
import { isReadableByOthers, readTextFile, readTrusted } from './text-file.ts';
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
    const read = readTrusted(path);
    if (read === null) continue;
    const ownFolders = [home !== null && belongsToCaller(home) ? home : null, configHome];
    const folders = [...ownFolders, dirname(systemConfigFile)].filter((folder) => folder !== null);
    const isConfined = !folders.some((folder) => isInside(dirname(path), folder));
    return { path, mode: read.found.mode, text: decode(read.bytes, path), isConfined };
  }
  return null;
}

function readNamed(subject: string, named: string, cwd: string): FoundFile {
  const path = resolve(cwd, named);
  const missing = new ConfigError(`${subject}: ${quoted(named)}: no such file (name a YAML file)`);
  if (named === '') throw missing;
  try {
    const { bytes, found } = readTextFile(path);
    return { path, mode: found.mode, text: decode(bytes, path), isConfined: false };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    if (isMissing(error)) throw missing;
    const why = fileError(error, 'read');
    throw new ConfigError(`${subject}: ${path}: ${why} (name a readable YAML file by --config)`);
  }
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
  if (file.text.trim() === '') return { path: file.path, layer: noLayer, minorWarnings: [] };
  const { parseYaml } = await import('./yaml.ts');
  const { FileLayer } = await import('./file-layer.ts');
  const visible = file.isConfined ? /^REDLOCK_/ : /^/;
  const yaml = parseYaml(file.path, file.text, environment, visible);
  const layer = new FileLayer(file.path, yaml, file.isConfined);
  return { path: file.path, layer, minorWarnings: warningsAbout(file, yaml) };
}

function warningsAbout(file: FoundFile, yaml: YamlData): ConfigWarning[] {
  if (!isReadableByOthers(file.mode) || !yaml.literals.some(holdsPassword)) return [];
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
