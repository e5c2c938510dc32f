// @ts-check
// `node scripts/faketime.js`: prints the path of libfaketime, with which tests show a program
// another time of day. It is unpacked into the user's cache when the system has none. Exits 69
// where it is not available.

import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { unpackIntoCache } from './missing-program.js';
import { cachePath, Failure, script } from './program.js';

const library = 'libfaketime.so.1';

await script(async () => {
  if (process.platform !== 'linux') throw new Failure(69, `faketime: none for ${process.platform}`);
  const target = cachePath(library);
  if (!existsSync(target))
    await unpackIntoCache({ name: 'libfaketime', target, packages: ['libfaketime'], pick });
  if (!existsSync(target)) throw new Failure(69, 'faketime: libfaketime could not be downloaded');
  process.stdout.write(`${target}\n`);
  return 0;
});

/** @param {string} tree */
async function pick(tree) {
  const all = readdirSync(tree, { recursive: true, encoding: 'utf8' });
  const found = all.find((name) => basename(name) === library);
  return found === undefined ? null : join(tree, found);
}
