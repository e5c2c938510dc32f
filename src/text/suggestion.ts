// What is most likely meant by a word that is not ours: the known word that is nearest to a
// misspelt one, and the spellings of other programs. (For options commander has its own search,
// which it does not export.) A wild guess is worse than none, so it may find none. A suggestion
// never means the opposite of the word that was typed.

import { quoted } from './foreign-text.ts';

/**
 * The candidate with the fewest edits to `word`; null when it needs more than `most`, or more than
 * a third of the letters of the longer one.
 */
export function nearest(
  word: string,
  candidates: readonly string[],
  most = Number.POSITIVE_INFINITY,
): string | null {
  let best: string | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const edits = editsBetween(word.toLowerCase(), candidate.toLowerCase());
    const limit = Math.min(most, Math.max(word.length, candidate.length) / 3);
    if (edits < fewest && edits <= limit) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours: optimal string alignment. */
function editsBetween(from: string, to: string): number {
  if (Math.abs(from.length - to.length) > 20) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const replaced = at(last, column - 1) + (same ? 0 : 1);
      const swapped =
        from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
          ? at(beforeLast, column - 2) + 1
          : Number.POSITIVE_INFINITY;
      current.push(Math.min(at(last, column) + 1, at(current, column - 1) + 1, replaced, swapped));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(numbers: readonly number[], index: number): number {
  return numbers[index] ?? Number.POSITIVE_INFINITY;
}

/** Options that users of other programs type, and ours that do the same. */
const spellings: Readonly<Record<string, string>> = {
  '--no-wait': '--nonblock',
  '--nowait': '--nonblock',
  '--dont-wait': '--nonblock',
  '--no-block': '--nonblock',
  '--noblock': '--nonblock',
  '--try': '--nonblock',
  '--skip': '--nonblock',
  '--redis': '--master',
  '--redis-url': '--master',
  '--url': '--master',
  '--server': '--master',
  '--host': '--master',
  '--node': '--master',
  '--lease': '--ttl',
  '--expire': '--ttl',
  '--expiry': '--ttl',
  '--kill': '--kill-after',
  '--max-time': '--max-run',
  '--time-limit': '--max-run',
  '--read': '--shared',
  '--write': '--exclusive',
  '--concurrency': '--slots',
  '--parallel': '--slots',
};

/** Ours for an option of another program; null: none. */
export function optionMeantBy(flag: string): string | null {
  return Object.hasOwn(spellings, flag) ? (spellings[flag] ?? null) : null;
}

/** Whether one says no to what the other says: `--no-history` and `--history`. */
export function isOpposite(flag: string, suggestion: string): boolean {
  // Words such as --node and --note begin with it, and say no such thing.
  const saysNo = (text: string) => /^--(no(?!de\b|te\b|tify\b|rmal)|dont|disable)/.test(text);
  return saysNo(flag) !== saysNo(suggestion);
}

/**
 * The warning for `-s TERM`, as timeout(1) is told a signal: here -s shares the lock, and TERM is a
 * name. `args`: those before the command. null: nothing of that kind.
 */
export function suspicionOfSignal(args: readonly string[]): string | null {
  const name = args[args.indexOf('-s') + 1] ?? '';
  if (!args.includes('-s') || !isSignal(name)) return null;
  const meaning = `${quoted(name)} is taken for a lock's name, and -s for --shared`;
  return `-s: ${meaning} (for the stop signal write --signal ${name})`;
}

/**
 * The warning for `-w 5 minutes`: `minutes` is a name there. `words`: those before the command.
 * null: nothing of that kind.
 */
export function suspicionOfUnit(words: readonly string[]): string | null {
  const at = words.findIndex(
    (word, index) => isUnit(word) && ofDuration.test(`${words[index - 2]} ${words[index - 1]}`),
  );
  const [count = '', unit = ''] = [words[at - 1], words[at]];
  if (at < 0) return null;
  const written = `${count}${/^ms|^milli/i.test(unit) ? 'ms' : unit.charAt(0).toLowerCase()}`;
  return `${quoted(unit)}: is taken for a lock's name (write ${written} for a duration)`;
}

/** The warning for `-n 5 job`, as -w is told a time. null: nothing of that kind. */
export function suspicionOfTime(words: readonly string[]): string | null {
  const at = words.findIndex((word) => word === '-n' || word === '--nonblock');
  const time = at < 0 ? '' : (words[at + 1] ?? '');
  if (!/^\d+(\.\d+)?(ms|[smhd])?$/.test(time)) return null;
  return `-n: takes no value, and ${quoted(time)} is taken for a lock's name (write -w ${time})`;
}

/**
 * The warning for an option that begins with a long dash, as texts make one of `--`. null: nothing
 * of that kind.
 */
export function suspicionOfDash(words: readonly string[]): string | null {
  const name = words.find((word) => /^[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/.test(word));
  if (name === undefined) return null;
  const option = `-${name.length > 2 ? '-' : ''}${name.slice(1)}`;
  return `${quoted(name)}: is taken for a lock's name: its dash is no hyphen (write ${option})`;
}

const ofDuration = /^(-[wk]|--(ttl|wait|timeout|max-run|kill-after|jitter|hold-at-least)) \d+$/;

function isUnit(word: string): boolean {
  return /^(ms|milliseconds?|secs?|seconds?|mins?|minutes?|hours?|days?)$/i.test(word);
}

function isSignal(word: string): boolean {
  return /^(SIG)?(HUP|INT|QUIT|KILL|USR1|USR2|ALRM|TERM|CONT|STOP|TSTP|WINCH)$/i.test(word);
}
