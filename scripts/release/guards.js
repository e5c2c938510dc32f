// @ts-check
// redlock-guard for every system, by the C compiler of zig, which brings the headers and libraries
// of each: static for Linux, so that it runs with glibc and musl. The npm package depends on one
// optional package for each system, and npm installs the one whose `os` and `cpu` match.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { guardFlags, guardSource } from '../guard.js';
import { npm, root } from '../program.js';
import { notice } from '../standalone.js';
import { check, zig, zigVersion } from './tools.js';
import { makeFolder, place, writeText } from './tree.js';

/** By system, in the words of Node: what zig calls it. */
const targets = {
  'linux-x64': 'x86_64-linux-musl',
  'linux-arm64': 'aarch64-linux-musl',
  'darwin-x64': 'x86_64-macos',
  'darwin-arm64': 'aarch64-macos',
};

/**
 * The guard of a system; those of glibc and musl have the same.
 * @param {string} work
 * @param {{ name: string }} system
 */
export const guardFile = (work, { name }) => join(work, 'guards', name.replace('-musl', ''));

/** The packages of the guard, by name. @param {string} version */
export const guardPackages = (version) =>
  Object.keys(targets).map((name) => ({
    name: `@redlock-run/guard-${name}`,
    file: `redlock-run-guard-${name}-${version}.tgz`,
  }));

/** The optional dependencies of the npm package. @param {string} version */
export const guardDependencies = (version) =>
  Object.fromEntries(guardPackages(version).map(({ name }) => [name, version]));

/** For the SBOM. zig does not state which version of musl it has. */
export const guardComponent = {
  type: 'generic',
  name: 'musl',
  version: `in-zig-${zigVersion}`,
  license: 'MIT',
  description: 'linked into redlock-guard for Linux',
};

/** The licences of what is in the guard. */
export async function guardLicences() {
  const folder = join(await zig(), '..');
  const text = (/** @type {string} */ name) => readFileSync(join(folder, name), 'utf8');
  const heading = `redlock-guard for Linux contains musl and parts of zig ${zigVersion} (both MIT)`;
  return notice(heading, `${text('lib/libc/musl/COPYRIGHT')}\n${text('LICENSE')}`);
}

/** @param {import('./parts.js').Release} release */
export async function makeGuards({ out, work }) {
  const compiler = await zig();
  const licences = await guardLicences();
  makeFolder(join(work, 'guards'));
  for (const [name, target] of Object.entries(targets)) {
    const file = guardFile(work, { name });
    const flags = ['cc', '-target', target, ...guardFlags, '-Os', '-s'];
    await check(compiler, [...flags, '-o', file, guardSource]);
    const folder = join(work, 'guard-packages', name);
    writeGuardPackage(folder, name, file, licences);
    await npmPack(folder, out);
  }
}

/**
 * Writes the package of a guard into a folder. The tests call it for the guard in dist/.
 * @param {string} folder
 * @param {string} system such as linux-x64
 * @param {string} file the guard
 * @param {string} licences of what is linked into it
 */
export function writeGuardPackage(folder, system, file, licences) {
  const { version, license, repository, homepage, bugs } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const [os, cpu] = system.split('-');
  const manifest = {
    name: `@redlock-run/guard-${system}`,
    version,
    description: `The part of redlock-run in C, for ${system}. redlock-run installs it.`,
    license,
    repository,
    homepage,
    bugs,
    os: [os],
    cpu: [cpu],
    files: ['redlock-guard', 'LICENSES.txt'],
    // Yarn: nothing can be executed in a zip file.
    preferUnplugged: true,
  };
  writeText(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeText(join(folder, 'README.md'), `${manifest.description}\n`);
  writeText(join(folder, 'LICENSES.txt'), licences);
  place(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  place(file, join(folder, 'redlock-guard'), 0o755);
}

/**
 * Packs a folder as it is.
 * @param {string} folder
 * @param {string} out
 */
export async function npmPack(folder, out) {
  const { program, words } = npm();
  const all = [...words, 'pack', '--ignore-scripts', '--pack-destination', out];
  await check(program, all, { cwd: folder });
}
