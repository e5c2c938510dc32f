// @ts-check
// The executables of all systems, one after the other, and what is installed beside each: man
// pages, completions, licences, an example of the configuration.

import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { bundleStandalone } from '../bundle.js';
import { root } from '../program.js';
import { bunVersion, compileExecutable, notice, standaloneLicences, texts } from '../standalone.js';
import { guardComponent, guardLicences } from './guards.js';
import { imageLicences, musl } from './libraries.js';
import { systems } from './systems.js';
import { check } from './tools.js';
import { makeFolder, place, setTimes, writeText } from './tree.js';

/**
 * The executable of a system.
 * @param {string} work
 * @param {{ name: string }} system
 */
export const executableFile = (work, { name }) => join(work, 'executables', name);
/** @param {string} work */
export const licencesFile = (work) => join(work, 'LICENSES.txt');
/** The folder of what is installed beside the executable. @param {string} work */
export const sharedFolder = (work) => join(work, 'shared');
/** What is in the executables, for the SBOM. @param {string} work */
export const componentsFile = (work) => join(work, 'components.json');

const inBun = {
  javascriptcore: 'LGPL-2.1-only',
  'libstdc++': 'GPL-3.0-or-later WITH GCC-exception-3.1',
};

/** @param {import('./parts.js').Release} release */
export async function compileAll({ work, epoch }) {
  const folder = join(work, 'bundle');
  const packages = await bundleStandalone(folder);
  makeFolder(join(work, 'executables'));
  for (const system of systems) {
    await compileExecutable(folder, system.compiler);
    renameSync(join(folder, 'redlock-run'), executableFile(work, system));
  }
  // The same for each processor.
  const { notice: ofMusl } = await musl('amd64');
  const ofImage = texts('GPL-2.0') + notice('musl', readFileSync(ofMusl, 'utf8'));
  const ofPrograms = `${standaloneLicences(packages)}${await guardLicences()}`;
  writeText(licencesFile(work), `${ofPrograms}${imageLicences}${ofImage}`);
  const components = [
    ...packages.map(({ name, version, license }) => ({ type: 'npm', name, version, license })),
    { type: 'npm', name: 'bun', version: bunVersion, license: 'MIT' },
    // Bun does not say which versions of them it holds.
    ...Object.entries(inBun).map(([name, license]) => {
      return { type: 'generic', name, version: `in-bun-${bunVersion}`, license };
    }),
    guardComponent,
  ];
  writeText(componentsFile(work), JSON.stringify(components));
  await makeShared(work, epoch);
}

/**
 * @param {string} work
 * @param {number} epoch
 */
async function makeShared(work, epoch) {
  const shared = sharedFolder(work);
  const manuals = ['redlock-run.1', 'redlockctl.1', 'redlockrc.5'];
  for (const name of manuals) place(join(root, 'dist', 'man', name), join(shared, 'man', name));
  const pages = manuals.map((name) => join(shared, 'man', name));
  await check('gzip', ['-9n', ...pages]);
  for (const shell of ['bash', 'zsh', 'fish']) {
    const program = join(root, 'bin', 'redlockctl.js');
    const script = await check(process.execPath, [program, 'completion', shell]);
    writeText(join(shared, 'completion', shell), script);
  }
  place(join(root, '.redlockrc.example'), join(shared, 'redlockrc.example'));
  for (const name of ['LICENSE', 'README.md', 'CHANGELOG.md'])
    place(join(root, name), join(shared, name));
  place(licencesFile(work), join(shared, 'LICENSES.txt'));
  setTimes(shared, epoch);
}
