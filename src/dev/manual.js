// @ts-check
// The man pages, written beside what was compiled: generated, so that they cannot say anything that --help does not. The surprise: the
// version comes from package.json here, because what was compiled aside does not stand where the package will.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './program.js';

/**
 * Writes `man/*` into a folder of compiled files.
 * @param {string} folder
 */
export async function writeManual(folder) {
  const { renderManual } = await import(pathToFileURL(join(folder, 'manual.js')).href);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  mkdirSync(join(folder, 'man'), { recursive: true });
  for (const [name, text] of renderManual(version)) writeFileSync(join(folder, 'man', name), text);
}
