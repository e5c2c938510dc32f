// @ts-check
// The server of Debian's redis-tools for one user, without root, in the user's cache. Installs nothing. The surprise: all
// libraries of the package go beside it, because they are not the system's.

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

/** Puts bin/redis-server and lib/ where the local masters look for them. Returns quietly when that cannot be done. */
export async function unpackServer() {
  const { cachedServerDirectory } = await import(
    pathToFileURL(join(checkoutModules, 'server-program.js')).href
  );
  /** @type {string} */
  const target = cachedServerDirectory(process.env);
  mkdirSync(dirname(target), { recursive: true });
  const work = mkdtempSync(join(dirname(target), 'unpacking-'));
  try {
    say(`no redis-server on this machine: getting one into ${target}`);
    const tree = await unpackPackage(['redis-tools', 'valkey-tools'], work);
    if (tree === null || !(await pick(tree, join(work, 'server')))) return;
    rmSync(target, { recursive: true, force: true }); // It is there and does not work, or we would not be here.
    renameSync(join(work, 'server'), target);
  } catch (error) {
    say(`redis-server could not be unpacked: ${/** @type {Error} */ (error).message}`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * The server and its libraries, out of the tree of the package; false when it does not run here.
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
