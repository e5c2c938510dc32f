// A Lua script with short names and few spaces, as the bundles have it. A server reads every byte
// of a script each time; and the release of a run that ends has to be before a slow server together
// with the attempt that it undoes: Redis reads 16 KB, and then may find that the run has gone.
//
// Each declared name becomes one short name wherever it is used, also as the field of a table: the
// only fields that are not ours are those of Redis and of Lua's libraries. `redis.call` is the most
// frequent of them, and gets a name as well.

// @ts-check

const token = /'(?:\\.|[^'\\])*'|\d[\w.]*|[A-Za-z_]\w*|\s+|\.\.|==|./gs;
const declaration =
  /\blocal (?!function)([\w, ]+)|\bfor ([\w, ]+) (?:in|=)|\bfunction *(\w*)\(([^)]*)/g;
const field = /\b(?:redis|string|math|table)\.(\w+)/g;
const reserved =
  'ok err and break do else elseif end false for function if in local nil not or repeat return ' +
  'then true until while';

/** @param {string} script without comments */
export function shortLua(script) {
  const text = `local send = redis.call\n${script.replaceAll('redis.call(', 'send(')}`;
  const words = text.match(token) ?? [];
  const fields = [...text.matchAll(field)].map(([, name = '']) => name);
  const declared = [...text.matchAll(declaration)].flatMap(([, ...found]) =>
    found.join().split(/\W+/),
  );
  const renamed = new Set(declared);
  for (const name of ['', ...fields, ...reserved.split(' ')]) renamed.delete(name);
  const taken = new Set([...words.filter((word) => !renamed.has(word)), ...reserved.split(' ')]);
  const free = shortNames().filter((name) => !taken.has(name));
  const countOf = (/** @type {string} */ name) => words.filter((word) => word === name).length;
  const byCount = [...renamed].sort((a, b) => countOf(b) - countOf(a));
  const short = new Map(byCount.map((name, at) => [name, free[at]]));
  return words
    .map((word, at) => (isNeedless(word, words[at - 1], words[at + 1]) ? '' : word))
    .map((word) => short.get(word) ?? word)
    .join('');
}

/**
 * Whether this is a space that may go: no two words, minus signs or dots of numbers come together.
 * @param {string} text
 * @param {string} [before]
 * @param {string} [after]
 */
function isNeedless(text, before = '', after = '') {
  return /^ +$/.test(text) && !/\w \w|- -|[\d.] \.|\. \d/.test(`${before.at(-1)} ${after[0]}`);
}

/** Names of one and two letters, the shortest first. */
function shortNames() {
  const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  return [...letters, ...letters.flatMap((first) => letters.map((second) => first + second))];
}
