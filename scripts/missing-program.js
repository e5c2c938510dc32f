// @ts-check
// Gets a program for a checkout that lacks it: as root from the package manager; as a user of
// Debian or Ubuntu unpacked into the user's cache. An installed redlock-run installs nothing.

import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Failure, isOnPath, run, say } from './program.js';

/**
 * The words that install, and those that refresh the lists before a second try; in the order in
 * which managers are looked for.
 * @type {Readonly<Record<string, readonly [install: string, refresh?: string]>>}
 */
const managers = {
  'apt-get': ['install -y --no-install-recommends', 'update'],
  apk: ['add', 'update'],
  dnf: ['install -y'],
  yum: ['install -y'],
  pacman: ['-S --noconfirm', '-Sy'],
  zypper: ['--non-interactive install', 'refresh'],
  brew: ['install'],
};

/**
 * Makes sure that a program exists. Throws a Failure with what to type.
 * @param {object} missing
 * @param {string} missing.name
 * @param {() => Promise<boolean>} missing.isFound
 * @param {Readonly<Record<string, readonly string[]>>} missing.packages by package manager: the
 *   alternatives, in the order in which they are tried; names in one text belong together
 * @param {(packages: readonly string[]) => Promise<void>} missing.unpack gets Debian's packages
 *   without root
 * @param {string} missing.advice for a machine with no package manager that has it
 */
export async function ensureProgram({ name, isFound, packages, unpack, advice }) {
  if (await isFound()) return;
  const manager = Object.keys(managers).find((one) => one in packages && isOnPath(one));
  const choices = packages[manager ?? ''] ?? [];
  const [install = '', refresh] = managers[manager ?? ''] ?? [];
  const lines = choices.map((one) => `${install} ${one}`);
  // Homebrew refuses root and needs none; all others need it.
  if (manager !== undefined && (process.getuid?.() === 0) === (manager !== 'brew')) {
    for (const line of refresh === undefined ? lines : [...lines, refresh, ...lines]) {
      if (line !== refresh) say(`no ${name} on this machine: ${manager} ${line}`);
      const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
      const { code, output } = await run(manager, line.split(' '), { notice: `${line} ...`, env });
      if (code === 0 && (await isFound())) return;
      if (code !== 0) say(`${manager} ${line} failed: ${output.trim().split('\n').at(-1)}`);
    }
  }
  if (manager === 'apt-get') {
    await unpack(choices);
    if (await isFound()) return;
  }
  const user = manager === 'brew' ? 'type' : 'as root, type';
  const way = manager === undefined ? advice : `${user}: ${manager} ${lines[0]}`;
  throw new Failure(69, `${name}: not found, and could not be installed (${way})`);
}

/**
 * Puts a program or library of Debian into the user's cache, without root and if that is possible:
 * apt-get downloads a package and the libraries that this machine lacks, by package lists of its
 * own, because those of the system may be missing or old. Nothing is installed.
 * @param {object} wanted
 * @param {string} wanted.name
 * @param {string} wanted.target its file or folder in the cache
 * @param {readonly string[]} wanted.packages as those of apt-get in ensureProgram
 * @param {(tree: string) => Promise<string | null>} wanted.pick returns what becomes the target,
 *   from the unpacked packages or beside them; null: they are of no use here
 */
export async function unpackIntoCache({ name, target, packages, pick }) {
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), 'unpacking-'));
  try {
    say(`no ${name} on this machine: downloading one into ${target}`);
    const tree = join(work, 'tree');
    for (const file of await download(packages, work))
      await run('dpkg-deb', ['-x', file, tree], { notice: 'unpacking ...' });
    const picked = await pick(tree);
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
 * The first of these packages that exists, with its libraries.
 * @param {readonly string[]} packages
 * @param {string} work an empty folder
 * @returns {Promise<string[]>} the archives
 */
async function download(packages, work) {
  const [cache, lists] = [join(work, 'cache'), join(work, 'lists')];
  const archives = join(cache, 'archives');
  for (const folder of [archives, lists]) mkdirSync(join(folder, 'partial'), { recursive: true });
  const places = [`Dir::Cache=${cache}`, `Dir::State::lists=${lists}`, 'Debug::NoLocking=1'];
  const aptGet = (/** @type {string} */ line) => {
    const words = [...places.flatMap((place) => ['-o', place]), ...line.split(' ')];
    return run('apt-get', words, { notice: 'downloading packages (apt-get) ...' });
  };
  await aptGet('update');
  for (const names of packages) {
    // It would download nothing for a package that it believes installed.
    const { code, output } = await aptGet(
      `install --download-only --reinstall -y --no-install-recommends ${names}`,
    );
    const files = readdirSync(archives).filter((file) => file.endsWith('.deb'));
    // It also exits 0 for a package that it neither has nor can download.
    const isThere = (/** @type {string} */ name) =>
      files.some((file) => file.startsWith(`${name}_`));
    // Another C library than the system's would also need its own loader.
    if (code === 0 && names.split(' ').every(isThere))
      return files.filter((file) => !file.startsWith('libc6_')).map((file) => join(archives, file));
    say(`apt-get download of ${names} failed: ${output.trim().split('\n').at(-1)}`);
  }
  throw new Error('no package');
}
