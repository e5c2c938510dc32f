// @ts-check
// Compiles redlock-guard, the one part in C, for this machine. A checkout without a C compiler gets
// tcc, which is a hundredth of the size of gcc.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureProgram, unpackIntoCache } from './missing-program.js';
import { cachePath, Failure, isOnPath, root, run } from './program.js';

export const guardSource = join(root, 'src', 'guard', 'guard.c');
/** For every compiler; tcc ignores what it does not know. */
export const guardFlags = ['-std=c11', '-O2', `-I${join(root, 'src', 'guard', 'tcc')}`];

/**
 * A compiler and its arguments before and after those of a compilation.
 * @typedef {{ program: string, before?: string[], after?: string[] }} Compiler
 */

const gcc = 'gcc libc6-dev';
const packages = {
  // tcc of Debian and Ubuntu has no atomic operations for other processors.
  'apt-get': process.arch === 'x64' ? ['tcc libc6-dev', gcc] : [gcc],
  apk: ['gcc musl-dev'],
  dnf: ['gcc'],
  yum: ['gcc'],
  pacman: ['gcc'],
  zypper: ['gcc'],
};

/**
 * Writes redlock-guard into a folder. Throws a Failure with what to type.
 * @param {string} folder
 */
export async function buildGuard(folder) {
  /** @type {Compiler | null} */
  let compiler = null;
  await ensureProgram({
    name: 'C compiler',
    isFound: async () => {
      compiler = await findCompiler(folder);
      return compiler !== null;
    },
    packages,
    unpack: unpackTcc,
    advice: process.platform === 'darwin' ? 'type: xcode-select --install' : 'install gcc',
  });
  if (compiler === null) throw new Error('no compiler');
  const { code, output } = await compile(compiler, guardSource, join(folder, 'redlock-guard'));
  if (code !== 0) throw new Failure(code, `src/guard/guard.c does not compile:\n${output}`);
}

/**
 * The first compiler that works: one may lack the headers of the C library. null: there is none.
 * @param {string} folder for a trial
 */
async function findCompiler(folder) {
  const [trial, program] = [join(folder, 'trial.c'), join(folder, 'trial')];
  writeFileSync(trial, '#include <stdio.h>\nint main(void) { return puts("") < 0; }\n');
  /** @type {Compiler[]} */
  const compilers = ['cc', 'gcc', 'clang', 'tcc'].filter(isOnPath).map((program) => ({ program }));
  const tree = cachePath('tcc');
  if (existsSync(tree)) compilers.push(unpackedTcc(tree));
  try {
    for (const compiler of compilers)
      if ((await compile(compiler, trial, program)).code === 0) return compiler;
    return null;
  } finally {
    for (const file of [trial, program]) rmSync(file, { force: true });
  }
}

/**
 * @param {Compiler} compiler
 * @param {string} source
 * @param {string} target
 */
function compile({ program, before = [], after = [] }, source, target) {
  const words = [...before, ...guardFlags, '-o', target, source, ...after];
  return run(program, words, { notice: 'compiling the guard ...' });
}

/** @param {readonly string[]} choices */
async function unpackTcc(choices) {
  const packages = choices.filter((one) => one.startsWith('tcc '));
  if (packages.length === 0) return;
  await unpackIntoCache({
    name: 'C compiler',
    target: cachePath('tcc'),
    packages,
    pick: async (tree) => tree,
  });
}

/**
 * tcc from packages of Debian that were unpacked into a folder. It looks for headers and libraries
 * where they would be installed, so it gets each by its path. What the system has already was not
 * downloaded.
 * @param {string} tree
 * @returns {Compiler}
 */
function unpackedTcc(tree) {
  const own = (/** @type {string} */ name) => join(tree, 'usr/lib/x86_64-linux-gnu', name);
  const headers = [tree, '/'].flatMap((base) =>
    ['usr/include/x86_64-linux-gnu', 'usr/include'].map((name) => `-I${join(base, name)}`),
  );
  const where = [`-B${own('tcc')}`, '-nostdinc', '-nostdlib', `-I${own('tcc/include')}`];
  const libraries = ['libc_nonshared.a', 'tcc/libtcc1.a', 'crtn.o'].map(own);
  return {
    program: join(tree, 'usr/bin/tcc'),
    before: [...where, ...headers, ...['crt1.o', 'crti.o'].map(own)],
    after: ['/lib/x86_64-linux-gnu/libc.so.6', ...libraries],
  };
}
