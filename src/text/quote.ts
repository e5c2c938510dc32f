// Text that a user gave, made fit for a message: quoted, cut, on one line, and without passwords. No
// message is two lines long or gives a secret away, because each quotes by one of these functions.

import { oneLine } from './printable.ts';

/** Of a master, where the user may be a password as well: redis-cli takes one there. */
const masterLogin = /((rediss?|valkeys?|unix)(\+sentinel)?:\/\/).*$/is;
const urlPassword = /([a-z][a-z0-9+.-]{0,20}:\/\/[^:@/\s]*:)\S*@/i;

/** JSON-quoted, on one line, without the passwords of URLs, at most `limit` characters. */
export function quoted(text: string, limit = 80): string {
  return oneLine(JSON.stringify(cut(withoutPasswords(text), limit)));
}

/** The same of a text that was given as the address of a master: see withoutSecrets. */
export function quotedAddress(text: string): string {
  const visible = withoutSecrets(text).replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '?');
  return JSON.stringify(cut(visible, 80));
}

function cut(text: string, limit: number): string {
  const characters = [...text];
  return characters.length > limit ? `${characters.slice(0, limit).join('')}…` : text;
}

/** Any text, with the password of every URL in it, and a master's whole login, as `***`. */
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

/**
 * The text of an address, right or wrong, with everything that may be a password replaced by `***`:
 * the whole login (redis-cli takes a password where we take a user), a port or a database that is
 * no number, and a query.
 */
export function withoutSecrets(text: string): string {
  const separator = schemeLength(text);
  const start = separator < 0 ? 0 : separator + 3;
  const at = text.lastIndexOf('@');
  const login = at < start ? '' : '***@';
  const place = text.slice(Math.max(start, at + 1));
  const [, hosts = '', path = '', query = ''] = /^([^/?#]*)([^?#]*)(.*)$/s.exec(place) ?? [];
  const isSocket = /^unix:/i.test(text) || (separator < 0 && hosts === '');
  const shownPath = isSocket || /^(\/\d{0,9})?$/.test(path) ? path : '/***';
  const shownQuery = query === '' || /^\?db=\d+$/.test(query) ? query : `${query[0]}***`;
  const shownHosts = hosts.split(',').map(withoutOddPort).join(',');
  return `${text.slice(0, start)}${login}${shownHosts}${shownPath}${shownQuery}`;
}

/**
 * A port that is none, or that follows no host, is the password of an address whose @host was
 * forgotten.
 */
function withoutOddPort(host: string): string {
  return host.replace(/^(\[[^\]]*\]|[^:[]+):(?!\d{1,5}$).+$/s, '$1:***').replace(/^:.+$/s, ':***');
}

/** The characters before `://`, or -1. */
export function schemeLength(text: string): number {
  return /^[a-z][a-z0-9+.-]*(?=:\/\/)/i.exec(text)?.[0].length ?? -1;
}
