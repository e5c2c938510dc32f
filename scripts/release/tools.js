// @ts-check
// The programs that a release needs beside Node and npm. Tools written in Go are compiled once, at
// an exact version, into the user's cache.

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cachePath, Failure, isOnPath, run } from '../program.js';

/** @type {Readonly<Record<string, { path: string, version: string }>>} */
const goTools = {
  // Not newer: its modules are on the module proxy, those of 2.46 and later are not all.
  nfpm: { path: 'github.com/goreleaser/nfpm/v2/cmd/nfpm', version: 'v2.45.0' },
  crane: { path: 'github.com/google/go-containerregistry/cmd/crane', version: 'v0.22.1' },
};

/** The C compiler of the guards, from PyPI. */
export const zigVersion = '0.17.1';

/** The checksums of its wheels, by the machines on which a release is made. */
const zigWheels = [
  'ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54',
  'b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e',
];

/** What is called from the PATH, and what for. */
const needed = {
  go: 'packages and image: https://go.dev/dl',
  tar: 'archives',
  gzip: 'archives and man pages',
  'apt-get': 'the C library of the image',
  'dpkg-deb': 'the C library of the image',
  pip: 'the C compiler of the guards, and the C++ library of the image',
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

/** The path of zig. */
export async function zig() {
  const folder = cacheFolder(`ziglang${zigVersion}`);
  const program = join(folder, 'ziglang', 'zig');
  if (!existsSync(program)) {
    const hashes = zigWheels.map((sum) => ` --hash=sha256:${sum}`).join('');
    const list = join(folder, 'requirements.txt');
    writeFileSync(list, `ziglang==${zigVersion}${hashes}\n`);
    const quiet = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore'];
    const words = ['--require-hashes', '--target', folder, '--requirement', list];
    await check('pip', ['install', ...quiet, ...words]);
  }
  return program;
}

/**
 * A folder in the user's cache, made when it is missing.
 * @param {string} name
 */
export function cacheFolder(name) {
  const folder = cachePath(name);
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
