// @ts-check
// What a release consists of, in the order in which it is made: later parts use the files of
// earlier ones.

import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../program.js';
import { archiveName, makeArchives } from './archives.js';
import { makeDownloads } from './downloads.js';
import { compileAll, licencesFile } from './executables.js';
import { guardDependencies, guardPackages, makeGuards, npmPack } from './guards.js';
import { imageName, makeImage } from './image.js';
import { makePackages, packageNames } from './packages.js';
import { makeSbom, sbomName } from './sbom.js';
import { systems } from './systems.js';
import { check } from './tools.js';
import { makeFolder, writeText } from './tree.js';

/**
 * @typedef {object} Release
 * @property {string} version
 * @property {number} epoch the time of all files, in seconds since 1970
 * @property {string} out where the files of the release are written
 * @property {string} work a folder for everything else
 * @property {string | null} url where the files can be downloaded once they are published
 */

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {(version: string) => string[]} files the files it makes in `out`
 * @property {boolean} needsUrl whether it is left out without --url
 * @property {(release: Release) => Promise<void>} make
 */

/** @type {readonly Part[]} */
export const parts = [
  {
    name: 'npm package',
    files: (version) => [`redlock-run-${version}.tgz`],
    needsUrl: false,
    make: pack,
  },
  {
    name: 'guards (zig)',
    files: (version) => guardPackages(version).map(({ file }) => file),
    needsUrl: false,
    make: makeGuards,
  },
  { name: 'executables', files: () => [], needsUrl: false, make: compileAll },
  {
    name: 'archives',
    files: (version) => systems.map((system) => archiveName(version, system)),
    needsUrl: false,
    make: makeArchives,
  },
  {
    name: 'packages (nfpm)',
    files: packageNames,
    needsUrl: false,
    make: makePackages,
  },
  {
    name: 'image (crane)',
    files: (version) => [imageName(version)],
    needsUrl: false,
    make: makeImage,
  },
  { name: 'SBOM', files: (version) => [sbomName(version)], needsUrl: false, make: makeSbom },
  {
    name: 'licences',
    files: () => ['LICENSES.txt'],
    needsUrl: false,
    make: async ({ work, out }) => copyFileSync(licencesFile(work), join(out, 'LICENSES.txt')),
  },
  {
    name: 'install script and Homebrew formula',
    files: () => ['install.sh', 'redlock-run.rb'],
    needsUrl: true,
    make: makeDownloads,
  },
];

/**
 * The package of the checkout with the packages of the guard as dependencies. A checkout compiles
 * its own, and its lock file cannot have what is not published yet.
 * @param {Release} release
 */
async function pack({ version, out, work }) {
  const folder = join(work, 'npm');
  makeFolder(folder);
  await npmPack(root, folder);
  await check('tar', ['-xzf', join(folder, `redlock-run-${version}.tgz`), '-C', folder]);
  const file = join(folder, 'package', 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  manifest.optionalDependencies = guardDependencies(version);
  writeText(file, `${JSON.stringify(manifest, null, 2)}\n`);
  await npmPack(join(folder, 'package'), out);
}
