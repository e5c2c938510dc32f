// @ts-check
// The server of Debian's redis-tools for one user, without root, unpacked into the user's cache.
// Nothing is installed. All libraries of the package go beside it, because the system lacks them.

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutModules } from './built.js';
import { unpackPackage } from './debian-packages.js';
import { run, say } from './program.js';

/** Puts bin/redis-server and lib/ where the local masters look for them, if that is possible. */
export async function unpackServer() {
  const { cachedServerDirectory } = await import(
    pathToFileURL(join(checkoutModules, 'server-program.js')).href
  );
  /** @type {string} */
  const target = cachedServerDirectory(process.env);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), 'unpacking-'));
  try {
    say(`no redis-server on this machine: downloading one into ${target}`);
    const tree = await unpackPackage(['redis-tools', 'valkey-tools'], work);
    if (tree === null || !(await pick(tree, join(work, 'server')))) return;
    rmSync(target, { recursive: true, force: true }); // It exists, but does not run.
    renameSync(join(work, 'server'), target);
  } catch (error) {
    say(`redis-server could not be unpacked: ${/** @type {Error} */ (error).message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Copies the server and its libraries from the unpacked package; false when it does not run here.
 * @param {string} tree
 * @param {string} target
 */
async function pick(tree, target) {
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
  if (program === undefined) return false;
  const server = join(bin, 'redis-server');
  copyFileSync(program, server);
  const env = { LD_LIBRARY_PATH: lib };
  const { code, output } = await run(server, ['--version'], { notice: 'starting it ...', env });
  if (code !== 0) say(`redis-server does not run here: ${output.trim().split('\n').at(-1)}`);
  return code === 0;
}
