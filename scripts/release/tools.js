// @ts-check
// The programs that a release needs beside Node and npm. Tools written in Go are compiled once, at
// an exact version, into the user's cache.

import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Failure, run } from '../program.js';

/** @type {Readonly<Record<string, { path: string, version: string }>>} */
const goTools = {
  // Not newer: its modules are on the module proxy, those of 2.46 and later are not all.
  nfpm: { path: 'github.com/goreleaser/nfpm/v2/cmd/nfpm', version: 'v2.45.0' },
  crane: { path: 'github.com/google/go-containerregistry/cmd/crane', version: 'v0.22.1' },
};

/** What is called from the PATH, and what for. */
const needed = {
  go: 'packages and image: https://go.dev/dl',
  tar: 'archives',
  gzip: 'archives and man pages',
  'apt-get': 'the C library of the image',
  'dpkg-deb': 'the C library of the image',
  pip: 'the C++ library of the image',
  unzip: 'the C++ library of the image',
};

/** Throws a Failure that names every program that is missing, before anything is made. */
export async function checkTools() {
  const missing = Object.entries(needed).filter(([name]) => !isOnPath(name));
  if (missing.length > 0) {
    const list = missing.map(([name, purpose]) => `${name} (${purpose})`).join(', ');
    throw new Failure(69, `release: not on the PATH: ${list}`);
  }
  const { output } = await run('tar', ['--version'], { notice: 'tar ...' });
  if (!output.includes('GNU tar'))
    throw new Failure(69, 'release: tar: not GNU tar (put GNU tar first on the PATH)');
}

/**
 * The path of a tool written in Go.
 * @param {'nfpm' | 'crane'} name
 */
export async function goTool(name) {
  const { path = '', version = '' } = goTools[name] ?? {};
  const folder = cacheFolder(`${name}${version}`);
  const program = join(folder, name);
  if (!existsSync(program)) {
    const env = { ...process.env, GOBIN: folder, GOFLAGS: '', CGO_ENABLED: '0' };
    await check('go', ['install', `${path}@${version}`], { env });
  }
  return program;
}

/**
 * A folder in the user's cache, made when it is missing.
 * @param {string} name
 */
export function cacheFolder(name) {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const folder = join(cache, 'redlock-run', name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/**
 * Runs a program and returns its output. Throws a Failure with the output when it fails.
 * @param {string} program
 * @param {readonly string[]} words
 * @param {{ env?: Record<string, string | undefined>, cwd?: string }} [options]
 */
export async function check(program, words, options = {}) {
  const notice = `${program.replace(/.*\//, '')} ${words[0]} ...`;
  const { code, output } = await run(program, words, { notice, ...options });
  if (code !== 0) throw new Failure(code, `release: ${program} ${words.join(' ')}:\n${output}`);
  return output;
}

/** @param {string} program */
function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
