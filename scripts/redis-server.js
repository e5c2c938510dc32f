// @ts-check
// Gets a redis-server or valkey-server for a checkout that has none. Debian's package is
// redis-tools, which contains the whole program (src/local/server-program.ts): redis-server would
// add a service on port 6379.

import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutModules } from './built.js';
import { ensureProgram, unpackIntoCache } from './missing-program.js';
import { run, say } from './program.js';

const packages = {
  'apt-get': ['redis-tools', 'valkey-tools'],
  apk: ['valkey', 'redis'],
  dnf: ['valkey', 'redis'],
  yum: ['redis'],
  pacman: ['valkey', 'redis'],
  zypper: ['valkey', 'redis'],
  brew: ['valkey', 'redis'],
};

/** Makes sure that a server program exists. Needs dist/. Throws a Failure with what to type. */
export async function ensureServer() {
  const { cachedServerDirectory, findServerProgram } = await import(
    pathToFileURL(join(checkoutModules, 'server-program.js')).href
  );
  const name = 'redis-server';
  await ensureProgram({
    name,
    isFound: async () => findServerProgram(process.env) !== null,
    packages,
    unpack: (packages) =>
      unpackIntoCache({ name, target: cachedServerDirectory(process.env), packages, pick }),
    advice: 'install redis-server or valkey-server, or name masters with --master',
  });
}

/**
 * Copies the server and all libraries of the unpacked package, which the system lacks, to where the
 * local masters look for them: bin/redis-server and lib/. null when it does not run here.
 * @param {string} tree
 * @returns {Promise<string | null>}
 */
async function pick(tree) {
  const target = join(dirname(tree), 'server');
  const [bin, lib] = [join(target, 'bin'), join(target, 'lib')];
  for (const folder of [bin, lib]) mkdirSync(folder, { recursive: true });
  const names = readdirSync(tree, { recursive: true, encoding: 'utf8' });
  const isFile = (/** @type {string} */ file) =>
    statSync(file, { throwIfNoEntry: false })?.isFile() === true;
  const files = names.map((name) => join(tree, name)).filter(isFile);
  for (const file of files)
    if (/\.so(\.|$)/.test(basename(file))) copyFileSync(file, join(lib, basename(file)));
  const program = files.find((file) => /\/bin\/(redis|valkey)-check-rdb$/.test(file));
  if (program === undefined) return null;
  const server = join(bin, 'redis-server');
  copyFileSync(program, server);
  const env = { LD_LIBRARY_PATH: lib };
  const { code, output } = await run(server, ['--version'], { notice: 'starting it ...', env });
  if (code !== 0) say(`redis-server does not run here: ${output.trim().split('\n').at(-1)}`);
  return code === 0 ? target : null;
}
