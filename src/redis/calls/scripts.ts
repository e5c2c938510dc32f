// The Lua scripts: everything that must be decided inside Redis in one step. They are in
// scripts/*.lua, and are sent whole each time. Each may run twice, late, or after the answer was
// lost, without harm.
//
// The files are one library. Each function that is not local is a verb. Its script is its body, in
// which each statement has the local functions in front of it that it needs first, so a script that
// returns early never defines the rest. The lines from `-- @forms` to `-- @end` do nothing for
// a claim that is exclusive and not preemptible, and those from `-- @history` for a request that
// leaves nothing in the history. Bundles contain the scripts instead of this module
// (scripts/bundle.js).

import { readdirSync, readFileSync } from 'node:fs';

/** What both protocols do, each by a verb of its own; only the older one never repairs. */
export type LockVerb = 'acquire' | 'extend' | 'repair' | 'release' | 'look' | 'exchange';

export type ScriptName =
  | LockVerb
  | `setnx_${Exclude<LockVerb, 'repair'>}`
  | ('history' | 'act' | 'freeze' | 'thaw')
  | ('promoted' | 'mark' | 'record_set');

export interface Script {
  readonly text: string;
  /** The names of what it reads from ARGV, in this order. */
  readonly params: readonly string[];
}

const made = new Map<string, Script>();

/**
 * The script of a verb, without the parts that the request does not need. A server reads and hashes
 * every byte of a script each time: half the bytes save a tenth of a lock cycle on one master.
 */
export function scriptOf(name: ScriptName, hasForms = true, hasHistory = true): Script {
  const key = [name, hasForms, hasHistory].join();
  const script = made.get(key) ?? compose(name, hasForms, hasHistory);
  made.set(key, script);
  return script;
}

const folder = new URL('../scripts/', import.meta.url);
const library = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));

export const scriptNames = library.flatMap((text) =>
  [...text.matchAll(/^function (\w+)/gm)].map(([, name]) => name as ScriptName),
);

function compose(name: ScriptName, hasForms: boolean, hasHistory: boolean): Script {
  const blocks = library.flatMap((text) =>
    blocksIn(without('history', hasHistory, without('forms', hasForms, text))),
  );
  const definitions = new Map(blocks.flatMap((block) => namesOf(block).map((one) => [one, block])));
  const lines: string[] = [];
  const add = (code: string) => {
    for (const word of wordsIn(code)) {
      const definition = definitions.get(word);
      if (definition === undefined) continue;
      for (const one of namesOf(definition)) definitions.delete(one);
      add(definition);
    }
    lines.push(code);
  };
  const verb = new RegExp(`^function ${name}\\(([^)]*)\\)\n(.*)\nend$`, 's');
  const [, allParams = '', body = ''] = blocks.map((block) => verb.exec(block)).find(Boolean) ?? [];
  // A statement begins where the indentation is that of the body.
  for (const statement of body.split(/\n(?= {2}(?!end|else| ))/)) add(statement);
  const used = new Set(lines.flatMap(wordsIn));
  const params = wordsIn(allParams).filter((param) => used.has(param));
  const text = [`local ${params.join(', ')} = unpack(ARGV)`, ...lines].join('\n');
  return { params, text: text.replace(/^ +/gm, '') };
}

function without(part: string, isKept: boolean, text: string): string {
  return isKept ? text : text.replace(new RegExp(` *-- @${part}\n.*?-- @end\n`, 'gs'), '');
}

/** What begins at the margin, without comments. */
function blocksIn(text: string): string[] {
  const code = text.replace(/^ *(--.*)?\n/gm, '').trimEnd();
  return code.split(/\n(?=local |function )/);
}

/** The local names that a block defines. */
function namesOf(block: string): string[] {
  return wordsIn(/^local (?:function (\w+)|([\w, ]+))/.exec(block)?.slice(1).join(' ') ?? '');
}

function wordsIn(code: string): string[] {
  return code.replace(/'[^'\n]*'/g, '').match(/[A-Za-z_]\w*/g) ?? [];
}
