// @ts-check
// The install script and the Homebrew formula, from packaging/: both hold the checksums of the
// archives, and the place where these can be downloaded.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../program.js';
import { archiveName } from './archives.js';
import { projectHome } from './identity.js';
import { systems } from './systems.js';
import { writeText } from './tree.js';

/** @param {import('./parts.js').Release} release */
export async function makeDownloads({ version, url, out }) {
  /** @type {Record<string, string>} */
  const values = { version, url: url ?? '', home: projectHome(url) };
  for (const system of systems) {
    const archive = readFileSync(join(out, archiveName(version, system)));
    values[system.name] = createHash('sha256').update(archive).digest('hex');
  }
  for (const file of ['install.sh', 'redlock-run.rb']) {
    const template = readFileSync(join(root, 'packaging', file), 'utf8');
    const text = template.replace(/@([a-z0-9-]+)@/g, (whole, name) => values[name] ?? whole);
    writeText(join(out, file), text);
  }
}
