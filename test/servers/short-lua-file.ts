// In the place of src/redis/calls/lua-file.ts: the scripts with short names, as the bundles have
// them.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { shortLua } from '../../scripts/short-lua.js';

const folder = path.join(import.meta.dirname, '../../src/redis/scripts');
const textOf = (file: string) => readFileSync(path.join(folder, file), 'utf8');
const names = readdirSync(folder).map((file) => file.replace(/\.lua$/, ''));
const files = shortLua(Object.fromEntries(names.map((name) => [name, textOf(`${name}.lua`)])));

export function luaFile(name: string): string {
  return files[name] as string;
}
