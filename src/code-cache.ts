// Loads our own bundles with the machine code that V8 made of them in an earlier run, kept in the
// user's cache folder: compiling them takes longer than everything else between start and lock.
// *Invariant:* V8 believes what it is given, so nothing is read from, or written to, a folder or a
// file that another user owns or may write to; and no file is removed that was not made here.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { Script } from 'node:vm';

/** Files below this size compile faster than their cache is found, in bytes. */
const leastBytes = 4_096;

export interface CodeCache {
  /**
   * Runs a file as require() would, with what it requires beside itself, and returns its exports.
   */
  load(file: string): unknown;
  /**
   * Keeps what had to be compiled, for the next run. Never throws: a cache that cannot be kept
   * costs time and nothing else.
   */
  keep(): void;
}

/**
 * null: there is no place for one, or the user wants none (NODE_DISABLE_COMPILE_CACHE, as in Node
 * itself).
 */
export function codeCacheFolder(environment: NodeJS.ProcessEnv): string | null {
  const { XDG_CACHE_HOME, HOME, NODE_DISABLE_COMPILE_CACHE } = environment;
  const base =
    XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME)
      ? XDG_CACHE_HOME
      : HOME
        ? join(HOME, '.cache')
        : null;
  return base === null || NODE_DISABLE_COMPILE_CACHE || process.geteuid === undefined
    ? null
    : join(base, 'redlock-run', 'code');
}

/**
 * The names of the files must change with their contents: V8 itself compares no more than their
 * lengths.
 */
export function openCodeCache(folder: string | null): CodeCache {
  const native = createRequire(import.meta.url);
  const loaded = new Map<string, { exports: unknown }>();
  const compiled: { readonly name: string; readonly script: Script }[] = [];
  const isUsable = folder !== null && isOurFolder(folder);

  function load(file: string): unknown {
    const known = loaded.get(file);
    if (known) return known.exports;
    const module = { exports: {} };
    loaded.set(file, module);
    const beside = (name: string) =>
      name.startsWith('./') ? load(join(dirname(file), name)) : native(name);
    compile(file)(module.exports, beside, module, file, dirname(file));
    return module.exports;
  }

  function compile(file: string) {
    const text = readFileSync(file, 'latin1'); // Bundles are ASCII: see the build.
    const name = `${basename(file)}.${process.version}-${process.arch}`;
    const isSmall = text.length < leastBytes;
    const cachedData = isSmall || !isUsable ? undefined : readOurs(join(folder, name));
    const source = `(function (exports, require, module, __filename, __dirname) {\n${text}\n})`;
    const script = new Script(source, { filename: file, lineOffset: -1, cachedData });
    if (!isSmall && (cachedData === undefined || script.cachedDataRejected))
      compiled.push({ name, script });
    return script.runInThisContext();
  }

  function keep(): void {
    if (folder === null || compiled.length === 0) return;
    try {
      if (!isUsable && !makeOurFolder(folder)) return;
      // After the run, when V8 has seen which functions are needed.
      for (const { name, script } of compiled)
        replace(join(folder, name), script.createCachedData());
    } catch {
      // No space, no permission.
    }
  }

  return { load, keep };
}

/**
 * Whether the folder and the one around it are ours, and so is where both lie; none of the two
 * may be a link.
 */
function isOurFolder(folder: string): boolean {
  const around = dirname(folder);
  return (
    isOurs(() => statSync(dirname(around))) &&
    [around, folder].every((each) => isOurs(() => lstatSync(each)))
  );
}

/** Makes what is missing of them, step by step, and returns whether all of it is ours. */
function makeOurFolder(folder: string): boolean {
  const around = dirname(folder);
  const base = dirname(around);
  // In a home directory of another user, as under sudo -E, nothing is made.
  if (!existsSync(base) && !isOurs(() => statSync(dirname(base)))) return false;
  if (existsSync(base) && !isOurs(() => statSync(base))) return false;
  mkdirSync(base, { recursive: true, mode: 0o700 });
  for (const each of [around, folder]) {
    if (lstatSync(each, { throwIfNoEntry: false }) === undefined) mkdirSync(each, { mode: 0o700 });
    if (!isOurs(() => lstatSync(each))) return false;
  }
  return true;
}

/** It belongs to us, and no other user may write to it; a group without other members may. */
function isOurs(look: () => Stats): boolean {
  try {
    const found = look();
    const caller = process.geteuid?.();
    const isPrivateGroup = found.gid === caller && found.gid === process.getegid?.();
    const writers = isPrivateGroup ? 0o002 : 0o022;
    return !found.isSymbolicLink() && found.uid === caller && (found.mode & writers) === 0;
  } catch {
    return false;
  }
}

/** undefined: it is not there, or not to be trusted. */
function readOurs(file: string): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  } catch {
    return undefined;
  }
  try {
    return isOurs(() => fstatSync(descriptor)) ? readFileSync(descriptor) : undefined;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * In one step, and on disk before that: half a cache after a power cut would crash every later
 * run.
 */
function replace(file: string, data: Uint8Array): void {
  const aside = `${file}.${process.pid}`;
  const descriptor = openSync(aside, 'wx', 0o600);
  try {
    writeFileSync(descriptor, data);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(aside, file);
}
