// The user's mistakes, as errors with one line and no stack: `what: which: why (what to do)`. Not
// for expected outcomes (busy, unreachable, lost are returned values) and not for bugs (those are
// assertions). Text that a user gave is quoted, cut and stripped of passwords here, so that no
// message can be two lines long or give away a secret.

import { oneLine } from '../text/printable.ts';

export { oneLine };

/** Of a master, where the user may be a password as well: redis-cli takes one there. */
const masterLogin = /((rediss?|valkeys?|unix)(\+sentinel)?:\/\/).*$/is;
const urlPassword = /([a-z][a-z0-9+.-]{0,20}:\/\/[^:@/\s]*:)\S*@/i;

/** A wrong command line: exit 64. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly exitCode = 64;

  constructor(message: string) {
    super(oneLine(message));
  }
}

/** A wrong configuration (file, environment, list of masters): exit 78. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly exitCode = 78;

  constructor(message: string) {
    super(oneLine(message));
  }
}

/**
 * A value that cannot be read, wherever it came from: `"30 potatoes": not a duration (write 30s)`. Whoever knows the
 * source puts it in front and throws a UsageError or a ConfigError instead; no ValueError reaches the user.
 */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

/** The text with the password of every URL in it, and a master's whole login, as `***`. */
export function withoutPasswords(text: string): string {
  // Word by word, and only where there is an @: a pattern that looks for one from every :// of a
  // long text takes minutes.
  return text.replace(/\S+/g, (word) => {
    const at = word.lastIndexOf('@');
    if (at < 0) return word;
    const shown = word.slice(0, at).replace(masterLogin, '$1***') + word.slice(at);
    return shown.replace(urlPassword, '$1***@');
  });
}

/** User-supplied text for a message: JSON-quoted, on one line, without URL passwords, at most `limit` characters. */
export function quoted(text: string, limit = 80): string {
  const characters = [...withoutPasswords(text)];
  const cut = characters.length > limit ? `${characters.slice(0, limit).join('')}…` : characters.join('');
  return oneLine(JSON.stringify(cut));
}

/** Why a file could not be used, in words, from what node:fs threw. A file that cannot be written lacks its directory. */
export function fileTrouble(error: unknown, use: 'read' | 'written' = 'read'): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOENT' && use === 'written') return 'no such directory';
  const words: Readonly<Record<string, string>> = {
    ENOENT: 'no such file',
    ENOTDIR: 'no such file',
    EACCES: 'permission denied',
    EPERM: 'permission denied',
    EISDIR: 'is a directory',
    ELOOP: 'too many symbolic links',
    ENAMETOOLONG: 'name too long',
    ENOSPC: 'no space left',
    EDQUOT: 'no space left',
    EROFS: 'is on a read-only file system',
    ENXIO: 'no process reads it',
    ERR_TOO_LONG: 'more than 1 MiB',
  };
  return words[code] ?? `cannot be ${use}: ${code}`;
}
