// @ts-check
// Packages of Debian for one user, without root: downloaded by apt-get from where the system gets its packages, with the
// libraries that this machine lacks, and unpacked into a folder. Installs nothing.
//
// The surprise: apt-get is asked to *re*install, because it would download nothing if it thought that the package is there.

import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { run, say } from './program.js';

const archiveFolder = join('cache', 'archives');

/**
 * The first of these packages that there is, below work/tree. Returns null, having said why, when none can be had. The
 * system's own package lists may be missing or old; the second try is with lists of our own.
 * @param {readonly string[]} packages
 * @param {string} work an empty folder
 * @returns {Promise<string | null>}
 */
export async function unpackPackage(packages, work) {
  if (!(await download(packages, work))) return null;
  const tree = join(work, 'tree');
  // A C library that is not the system's own would need its own loader as well.
  for (const file of archives(work).filter((name) => !name.startsWith('libc6'))) {
    await run('dpkg-deb', ['-x', join(work, archiveFolder, file), tree], {
      notice: 'unpacking ...',
    });
  }
  return tree;
}

/**
 * @param {readonly string[]} packages
 * @param {string} work
 */
async function download(packages, work) {
  for (const folder of ['cache/archives/partial', 'lists/partial'])
    mkdirSync(join(work, folder), { recursive: true });
  const common = ['-o', 'Debug::NoLocking=1', '-o', `Dir::Cache=${join(work, 'cache')}`];
  const withLists = [...common, '-o', `Dir::State::lists=${join(work, 'lists')}`];
  for (const settings of [common, withLists]) {
    if (settings === withLists) await aptGet(settings, ['update']);
    for (const name of packages) {
      const words = [
        'install',
        '--download-only',
        '--reinstall',
        '-y',
        '--no-install-recommends',
        name,
      ];
      const { code, output } = await aptGet(settings, words);
      // apt-get is also content when it neither has the package nor knows where to get it.
      if (code === 0 && archives(work).some((file) => file.startsWith(`${name}_`))) return true;
      if (settings === withLists)
        say(`apt-get download of ${name} failed: ${output.trim().split('\n').at(-1)}`);
    }
  }
  return false;
}

/**
 * @param {readonly string[]} settings
 * @param {readonly string[]} words
 */
function aptGet(settings, words) {
  return run('apt-get', [...settings, ...words], { notice: 'downloading packages (apt-get) ...' });
}

/** @param {string} work */
function archives(work) {
  return readdirSync(join(work, archiveFolder)).filter((name) => name.endsWith('.deb'));
}
