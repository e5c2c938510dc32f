// Loads our own bundles with the machine code that V8 made of them in an earlier run, kept in the
// user's cache folder: compiling them takes longer than everything else between start and lock.
// *Invariant:* V8 does not check that code, so no folder or file is read or written that another
// user owns or may write to; and no file is removed that was not made here.

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
import { isOwn } from '../system/ownership.ts';

/** Files below this size compile faster than their cache is found, in bytes. */
const minBytes = 4_096;

/** null: there is no folder for it, or NODE_DISABLE_COMPILE_CACHE is set, as for Node itself. */
export function codeCacheFolder(environment: NodeJS.ProcessEnv): string | null {
  const { XDG_CACHE_HOME, HOME, NODE_DISABLE_COMPILE_CACHE } = environment;
  const ofHome = HOME ? join(HOME, '.cache') : null;
  const base = XDG_CACHE_HOME && isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : ofHome;
  return base === null || NODE_DISABLE_COMPILE_CACHE || process.geteuid === undefined
    ? null
    : join(base, 'redlock-run', 'code');
}

/** The names of the files must change with their contents: V8 compares only their lengths. */
export function openCodeCache(folder: string | null) {
  const native = createRequire(import.meta.url);
  const loaded = new Map<string, { exports: unknown }>();
  const compiled: { readonly name: string; readonly script: Script }[] = [];
  const isUsable = folder !== null && isOurFolder(folder, false);

  /** Runs a file as require() would, with what it requires beside itself; returns its exports. */
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

  function textOf(file: string): string {
    try {
      return readFileSync(file, 'latin1'); // Bundles are ASCII: see the build.
    } catch (error) {
      native.resolve(file); // Throws as require() does where there is no such file.
      throw error;
    }
  }

  function compile(file: string) {
    const text = textOf(file);
    const name = `${basename(file)}.${process.version}-${process.arch}`;
    const isSmall = text.length < minBytes;
    const cachedData = isSmall || !isUsable ? undefined : readOurs(join(folder, name));
    const source = `(function (exports, require, module, __filename, __dirname) {\n${text}\n})`;
    const script = new Script(source, { filename: file, lineOffset: -1, cachedData });
    if (!isSmall && (cachedData === undefined || script.cachedDataRejected))
      compiled.push({ name, script });
    return script.runInThisContext();
  }

  /** Keeps what had to be compiled, for the next run, where that is possible. Never throws. */
  function keep(): void {
    if (folder === null || compiled.length === 0) return;
    try {
      if (!isOurFolder(folder, true)) return;
      // After the run, when V8 knows which functions are needed.
      for (const { name, script } of compiled)
        replace(join(folder, name), script.createCachedData());
    } catch {
      // No space, no permission.
    }
  }

  return { load, keep };
}

/**
 * Whether the folder, its parent and the parent of that are ours; neither of the first two may be a
 * link. `isMade`: those that are missing are created.
 */
function isOurFolder(folder: string, isMade: boolean): boolean {
  const around = dirname(folder);
  const base = dirname(around);
  // Not recursively: where the file system refuses it as /proc does, Node would never stop trying.
  if (isMade && !existsSync(base)) {
    // Nothing is created in the home directory of another user, as under sudo -E.
    if (!isOurs(() => statSync(dirname(base)))) return false;
    mkdirSync(base, { mode: 0o700 });
  }
  return (
    isOurs(() => statSync(base)) &&
    [around, folder].every((each) => {
      if (isMade && !lstatSync(each, { throwIfNoEntry: false })) mkdirSync(each, { mode: 0o700 });
      return isOurs(() => lstatSync(each));
    })
  );
}

/** Whether there is something of ours; see isOwn. */
function isOurs(look: () => Stats): boolean {
  try {
    return isOwn(look());
  } catch {
    return false;
  }
}

/** undefined: it does not exist, or cannot be trusted. */
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
 * Replaces the file in one step, after the data is on disk: half a cache after a power cut would
 * crash every later run.
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
