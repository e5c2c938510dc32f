// @ts-check
// Debian packages for one user, without root: apt-get downloads a package and the libraries that
// this machine lacks, and they are unpacked into a folder. Nothing is installed. *Note:* apt-get is
// told to reinstall, because it would download nothing for a package that it believes installed.

import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { run, say } from './program.js';

const archiveFolder = join('cache', 'archives');

/**
 * Puts a program or library into the user's cache, if that is possible, with a message about what
 * is downloaded and what fails.
 * @param {object} wanted
 * @param {string} wanted.name
 * @param {string} wanted.target its file or folder in the cache
 * @param {readonly string[]} wanted.packages those of which one is enough, in the order in which
 *   they are tried; names with a space between them belong together
 * @param {(tree: string) => Promise<string | null>} wanted.pick returns what becomes the target,
 *   from the unpacked packages or beside them; null: they are of no use here
 */
export async function unpackIntoCache({ name, target, packages, pick }) {
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), 'unpacking-'));
  try {
    say(`no ${name} on this machine: downloading one into ${target}`);
    const tree = await unpack(packages, work);
    const picked = tree === null ? null : await pick(tree);
    if (picked === null) return;
    rmSync(target, { recursive: true, force: true }); // It exists, but does not work.
    renameSync(picked, target);
  } catch (error) {
    say(`${name} could not be unpacked: ${/** @type {Error} */ (error).message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Unpacks the first of these packages that exists into work/tree and returns that path; null, with
 * a message, when none can be downloaded. The package lists of the system may be missing or old;
 * the second try downloads lists of its own.
 * @param {readonly string[]} packages
 * @param {string} work an empty folder
 * @returns {Promise<string | null>}
 */
async function unpack(packages, work) {
  if (!(await download(packages, work))) return null;
  const tree = join(work, 'tree');
  // Another C library than the system's would also need its own loader.
  for (const file of archives(work).filter((name) => !name.startsWith('libc6_'))) {
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
        ...name.split(' '),
      ];
      const { code, output } = await aptGet(settings, words);
      // apt-get also exits 0 for a package that it neither has nor can download.
      const isDownloaded = name
        .split(' ')
        .every((one) => archives(work).some((file) => file.startsWith(`${one}_`)));
      if (code === 0 && isDownloaded) return true;
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
