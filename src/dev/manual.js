// @ts-check
// The man pages, written beside what was built: generated, so that they cannot say anything that --help does not. The surprise: they are
// made by the checkout's own modules (programs.js), because the programs have no need of them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './program.js';

/**
 * Writes `man/*` into a folder, by the modules in another.
 * @param {string} folder
 * @param {string} modules
 */
export async function writeManual(folder, modules) {
  const { renderManual } = await import(pathToFileURL(join(modules, 'manual.js')).href);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  mkdirSync(join(folder, 'man'), { recursive: true });
  for (const [name, text] of renderManual(version)) writeFileSync(join(folder, 'man', name), text);
}
