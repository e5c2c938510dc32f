// @ts-check
// `node scripts/faketime.js`: prints the path of libfaketime, with which tests show a program
// another time of day. It is unpacked into the user's cache when the system has none. Exits 69
// where it is not available.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { unpackPackage } from './debian-packages.js';
import { Failure, script } from './program.js';

const library = 'libfaketime.so.1';

await script(async () => {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'redlock-run');
  const cached = join(cache, library);
  if (process.platform !== 'linux') throw new Failure(69, `faketime: none for ${process.platform}`);
  if (!existsSync(cached)) await unpack(cache, cached);
  process.stdout.write(`${cached}\n`);
  return 0;
});

/**
 * @param {string} cache
 * @param {string} target
 */
async function unpack(cache, target) {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'unpacking-'));
  try {
    const tree = await unpackPackage(['libfaketime'], work);
    const all = tree === null ? [] : readdirSync(tree, { recursive: true, encoding: 'utf8' });
    const found = all.find((name) => basename(name) === library);
    if (tree === null || found === undefined)
      throw new Failure(69, 'faketime: libfaketime could not be downloaded');
    copyFileSync(join(tree, found), join(work, library));
    renameSync(join(work, library), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
