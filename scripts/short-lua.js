// The Lua scripts with short names and few spaces, as the bundles have them. A server reads every
// byte of a script each time; and the release of a run that ends has to lie before a slow server
// together with the attempt that it undoes: Redis reads 16 KB, and then may find that the run has
// gone.
//
// A name means the same in all files, since one may be part of another: each name that is declared
// somewhere gets one short name, which stands nowhere else. Comments stay: they hold `@include`.

// @ts-check

const token = /--[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\d[\w.]*|[A-Za-z_]\w*|\s+|\.\.|==|./gs;
const isName = (/** @type {string} */ text) => /^[A-Za-z_]/.test(text);
const keywords =
  'and break do else elseif end false for function if in local nil not or repeat return then ' +
  'true until while';

/**
 * Returns the files, by name, with short names in them.
 * @param {Readonly<Record<string, string>>} files
 * @returns {Record<string, string>}
 */
export function shortLua(files) {
  const tokens = Object.values(files).map((text) => text.match(token) ?? []);
  const code = tokens.map((all) => all.filter((text) => !/^(\s|--)/.test(text)));
  const declared = new Set(code.flatMap(declaredIn));
  for (const field of code.flatMap(fieldsIn)) declared.delete(field);
  const taken = new Set([...keywords.split(' '), ...code.flat().filter(isName)]);
  /** @type {Map<string, string>} */
  const short = new Map();
  const free = shortNames().filter((name) => !taken.has(name));
  for (const name of byCount(code.flat().filter((text) => declared.has(text)))) {
    const next = name.length > 1 ? free.shift() : undefined;
    short.set(name, next ?? name);
  }
  const shortened = (/** @type {string} */ text) =>
    (text.match(token) ?? [])
      .map((part, at, all) => (isNeedless(part, all[at - 1], all[at + 1]) ? '' : part))
      .map((part) => short.get(part) ?? part)
      .join('');
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, shortened(text)]));
}

/**
 * Whether this is a space that may go: no two words, minus signs or dots of numbers come together.
 * @param {string} text
 * @param {string} [before]
 * @param {string} [after]
 */
function isNeedless(text, before = '', after = '') {
  return /^ +$/.test(text) && !/[\w.-] [\w.-]/.test(`${before.at(-1)} ${after[0]}`);
}

/**
 * The names behind `local`, `function` and `for`, and the parameters.
 * @param {readonly string[]} code
 */
function declaredIn(code) {
  return code.flatMap((text, at) => {
    if (!['local', 'function', 'for'].includes(text)) return [];
    const rest = code.slice(at + 1);
    const end = rest.findIndex((next) => ['=', 'in', ')'].includes(next));
    const names = text === 'local' && rest[0] !== 'function' ? listOf(rest) : rest.slice(0, end);
    return names.filter((next) => isName(next) && next !== 'function');
  });
}

/**
 * The names of `a, b, c`, with which the code begins.
 * @param {readonly string[]} code
 */
function listOf(code) {
  let end = 1;
  while (code[end] === ',') end += 2;
  return code.slice(0, end);
}

/**
 * What stands behind a dot or a colon, and before `=` in a table: no names of variables.
 * @param {readonly string[]} code
 */
function fieldsIn(code) {
  let depth = 0;
  return code.filter((text, at) => {
    if (text === '{') depth += 1;
    if (text === '}') depth -= 1;
    const isField = ['.', ':'].includes(code[at - 1] ?? '') || (depth > 0 && code[at + 1] === '=');
    return isName(text) && isField;
  });
}

/**
 * Each once, the most frequent first.
 * @param {readonly string[]} names
 */
function byCount(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
}

/** Names of one and two letters, the shortest first. */
function shortNames() {
  const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  return [...letters, ...letters.flatMap((first) => letters.map((second) => first + second))];
}
