// The Lua scripts: everything that must be decided inside Redis in one step. They are in
// scripts/*.lua, each with its contract, and are sent whole each time. Each may run twice, late, or
// after the answer was lost, without harm.
//
// A line `-- @include <file>.lua` is replaced by that file. The lines from `-- @forms` to `-- @end`
// do nothing for a claim that is exclusive and not preemptible, and those from `-- @history` for a
// request that leaves nothing in the history.

import { luaFile } from './lua-file.ts';

const names = [
  'acquire',
  'extend',
  'repair',
  'release',
  'look',
  'history',
  'act',
  'freeze',
  'thaw',
  'exchange',
  'promoted',
  'mark',
  'lists',
  'acquire.setnx',
  'extend.setnx',
  'release.setnx',
  'look.setnx',
  'exchange.setnx',
] as const;

/** The name of the file, without `.lua`; `.setnx` is the older protocol. */
export type ScriptName = (typeof names)[number];
export type Scripts = Readonly<Record<ScriptName, string>>;

/** The whole scripts. */
export const scripts = scriptsOf(luaFile);

/**
 * The scripts for a claim that is exclusive and not preemptible, as nearly all are. A server reads
 * and hashes every byte of a script each time: half the bytes save a tenth of a lock cycle on one
 * master. Without these, `scripts` would be sent instead.
 */
export const plainScripts = scriptsOf((name) =>
  without('history', without('forms', luaFile(name))),
);

const others = new Map<string, Scripts>();

/** The scripts for a claim of this form that leave something in the history, or nothing. */
export function scriptsFor(isPlain: boolean, hasLine: boolean): Scripts {
  if (isPlain && !hasLine) return plainScripts;
  if (!isPlain && hasLine) return scripts;
  const part = isPlain ? 'forms' : 'history';
  const made = others.get(part) ?? scriptsOf((name) => without(part, luaFile(name)));
  others.set(part, made);
  return made;
}

function without(part: 'forms' | 'history', text: string): string {
  return text.replace(new RegExp(`-- @${part}\\n.*?-- @end\\n`, 'gs'), '');
}

/** Each is made when it is first needed: a run sends two of them. */
function scriptsOf(textOf: (name: string) => string): Scripts {
  const made = new Map<ScriptName, string>();
  const scriptOf = (name: ScriptName) => {
    const script =
      made.get(name) ??
      linesOf(textOf(name).replace(/-- @include (\S+)\.lua/g, (_, part) => textOf(part)));
    made.set(name, script);
    return script;
  };
  const properties = names.map((name) => [name, { enumerable: true, get: () => scriptOf(name) }]);
  return Object.defineProperties({}, Object.fromEntries(properties)) as Scripts;
}

/** Removes indentation and comments, which have lines of their own. */
function linesOf(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !line.startsWith('--')).join('\n');
}
