// The Lua scripts: everything that has to be decided inside Redis in one step. They stand in
// scripts/*.lua, each with its contract, and are sent whole, each time. Every one may be run twice,
// late, or after the answer was lost, without harm.
//
// A line `-- @include <file>.lua` stands for that file. What stands between `-- @forms` and `-- @end`
// does nothing for a claim that is exclusive and never gives way.

import { luaFile } from './lua-file.ts';

const names = [
  'acquire',
  'extend',
  'repair',
  'release',
  'look',
  'history',
  'replace',
  'acquire.setnx',
  'extend.setnx',
  'release.setnx',
  'look.setnx',
  'replace.setnx',
] as const;

/** The name of the file, without `.lua`; `.setnx` is the older protocol. */
export type ScriptName = (typeof names)[number];
export type Scripts = Readonly<Record<ScriptName, string>>;

/** The scripts as they are sent. */
export const scripts = scriptsOf(luaFile);

/**
 * The same without what does nothing for a claim that is exclusive and never gives way, as nearly
 * all are. A server reads and hashes every byte of a script each time: half the bytes save a tenth
 * of a lock cycle on one master. Without this, `scripts` would be sent instead.
 */
export const plainScripts = scriptsOf((name) =>
  luaFile(name).replace(/-- @forms\n.*?-- @end\n/gs, ''),
);

function scriptsOf(textOf: (name: string) => string): Scripts {
  const scriptOf = (name: string) =>
    textOf(name).replace(/-- @include (\S+)\.lua/g, (_, part) => textOf(part));
  return Object.fromEntries(names.map((name) => [name, linesOf(scriptOf(name))])) as Scripts;
}

/** Without comments, which have lines of their own, and indentation. */
function linesOf(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('--')).join('\n');
}
