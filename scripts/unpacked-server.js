// @ts-check
// The server of Debian's redis-tools for one user, without root, unpacked into the user's cache.
// All libraries of the package go beside it, because the system lacks them.

import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutModules } from './built.js';
import { unpackIntoCache } from './debian-packages.js';
import { run, say } from './program.js';

/**
 * Puts bin/redis-server and lib/ where the local masters look for them, if that is possible.
 * @param {readonly string[]} packages
 */
export async function unpackServer(packages) {
  const { cachedServerDirectory } = await import(
    pathToFileURL(join(checkoutModules, 'server-program.js')).href
  );
  const target = cachedServerDirectory(process.env);
  await unpackIntoCache({ name: 'redis-server', target, packages, pick });
}

/**
 * Copies the server and its libraries from the unpacked package; null when it does not run here.
 * @param {string} tree
 * @returns {Promise<string | null>}
 */
async function pick(tree) {
  const target = join(dirname(tree), 'server');
  const [bin, lib] = [join(target, 'bin'), join(target, 'lib')];
  for (const folder of [bin, lib]) mkdirSync(folder, { recursive: true });
  const all = readdirSync(tree, { recursive: true, encoding: 'utf8' }).map((name) =>
    join(tree, name),
  );
  for (const path of all) {
    if (/\.so(\.|$)/.test(basename(path)) && statSync(path).isFile())
      copyFileSync(path, join(lib, basename(path)));
  }
  const program = all.find((path) => /\/bin\/(redis|valkey)-check-rdb$/.test(path));
  if (program === undefined) return null;
  const server = join(bin, 'redis-server');
  copyFileSync(program, server);
  const env = { LD_LIBRARY_PATH: lib };
  const { code, output } = await run(server, ['--version'], { notice: 'starting it ...', env });
  if (code !== 0) say(`redis-server does not run here: ${output.trim().split('\n').at(-1)}`);
  return code === 0 ? target : null;
}
