// @ts-check
// The server of Debian's redis-tools for one user, without root: downloaded by apt-get from where the system gets its
// packages, with the libraries that this machine lacks, and unpacked into the user's cache. Installs nothing.
//
// The surprise: apt-get is asked to *re*install, because it would download nothing if it thought that the package is there.

import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutModules } from './built.js';
import { run, say } from './program.js';

const packages = ['redis-tools', 'valkey-tools'];
const archiveFolder = join('cache', 'archives');

/** Puts bin/redis-server and lib/ where the local masters look for them. Returns quietly when that cannot be done. */
export async function unpackServer() {
  const { cachedServerDirectory } = await import(pathToFileURL(join(checkoutModules, 'server-program.js')).href);
  /** @type {string} */
  const target = cachedServerDirectory(process.env);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), 'unpacking-'));
  try {
    say(`no redis-server on this machine: getting one into ${target}`);
    if (!(await download(work)) || !(await unpack(work))) return;
    rmSync(target, { recursive: true, force: true }); // It is there and does not work, or we would not be here.
    renameSync(join(work, 'server'), target);
  } catch (error) {
    say(`redis-server could not be unpacked: ${/** @type {Error} */ (error).message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * The system's own package lists may be missing or old; the second try is with lists of our own.
 * @param {string} work
 */
async function download(work) {
  for (const folder of ['cache/archives/partial', 'lists/partial']) mkdirSync(join(work, folder), { recursive: true });
  const common = ['-o', 'Debug::NoLocking=1', '-o', `Dir::Cache=${join(work, 'cache')}`];
  const withLists = [...common, '-o', `Dir::State::lists=${join(work, 'lists')}`];
  for (const settings of [common, withLists]) {
    if (settings === withLists) await aptGet(settings, ['update']);
    for (const name of packages) {
      const words = ['install', '--download-only', '--reinstall', '-y', '--no-install-recommends', name];
      const { code, output } = await aptGet(settings, words);
      // apt-get is also content when it neither has the package nor knows where to get it.
      if (code === 0 && archives(work).some((file) => file.startsWith(`${name}_`))) return true;
      if (settings === withLists) say(`apt-get download of ${name} failed: ${output.trim().split('\n').at(-1)}`);
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

/** @param {string} work */
async function unpack(work) {
  const tree = join(work, 'tree');
  // A C library that is not the system's own would need its own loader as well.
  for (const file of archives(work).filter((name) => !name.startsWith('libc6'))) {
    await run('dpkg-deb', ['-x', join(work, archiveFolder, file), tree], { notice: 'unpacking ...' });
  }
  const [bin, lib] = [join(work, 'server', 'bin'), join(work, 'server', 'lib')];
  for (const folder of [bin, lib]) mkdirSync(folder, { recursive: true });
  const all = readdirSync(tree, { recursive: true, encoding: 'utf8' }).map((name) => join(tree, name));
  for (const path of all) {
    if (/\.so(\.|$)/.test(basename(path)) && statSync(path).isFile()) copyFileSync(path, join(lib, basename(path)));
  }
  const program = all.find((path) => /\/bin\/(redis|valkey)-check-rdb$/.test(path));
  if (program === undefined) return false;
  const server = join(bin, 'redis-server');
  copyFileSync(program, server);
  const env = { LD_LIBRARY_PATH: lib };
  const { code, output } = await run(server, ['--version'], { notice: 'starting it ...', env });
  if (code !== 0) say(`redis-server does not run here: ${output.trim().split('\n').at(-1)}`);
  return code === 0;
}
