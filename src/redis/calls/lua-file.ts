// The text of a file in src/redis/scripts/. Bundles contain these texts instead of this module
// (scripts/bundle.js), and read no file.

import { readFileSync } from 'node:fs';

export function luaFile(name: string): string {
  return readFileSync(new URL(`../scripts/${name}.lua`, import.meta.url), 'utf8');
}
