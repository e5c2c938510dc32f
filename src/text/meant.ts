// What is most likely meant by words that are not ours: spellings of other programs, and signals.
// A suggestion never means the opposite of the word that was typed.

import { quoted } from './quote.ts';

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
 * name. `words`: those before the command. null: nothing of that kind.
 */
export function suspicionOfSignal(words: readonly string[]): string | null {
  const name = words[words.indexOf('-s') + 1] ?? '';
  if (!words.includes('-s') || !isSignal(name)) return null;
  const meaning = `${quoted(name)} is taken for a lock's name, and -s for --shared`;
  return `-s: ${meaning} (for the stop signal write --signal ${name})`;
}

function isSignal(word: string): boolean {
  return /^(SIG)?(HUP|INT|QUIT|KILL|USR1|USR2|ALRM|TERM|CONT|STOP|TSTP|WINCH)$/i.test(word);
}
