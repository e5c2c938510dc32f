// Foreign text, such as the input of a user, an error of a server or the name of a host, made safe
// for a terminal or a log: on one line, without control characters, without commands of CI systems,
// cut to a length, and without passwords. *Invariant:* everything that the programs print goes
// through these functions, so that no message has two lines, shows a secret or is a command.

/**
 * Control characters (C0, DEL, C1), separators of lines and paragraphs, the byte order mark,
 * characters that change the direction of text, and halves of surrogate pairs.
 */
export const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufeff]/gu;

/**
 * What is escaped: these characters, and what makes a line of a log a command of the CI system that
 * reads it. `##[`, `##vso[` and `##teamcity[` count anywhere in a line, so no two `#` stay
 * together. `::` counts at the beginning of a line, behind white space too, so no word begins with
 * it: tables and terminals may begin a line with any word. Characters without a width may be
 * between the two: .NET, in which the runners of GitHub and Azure are written, ignores them when it
 * compares texts.
 */
const escaped = new RegExp(
  String.raw`${unprintable.source}|#(?=\p{DI}*#)|(?<![^\s\p{DI}]):(?=\p{DI}*:)`,
  'gu',
);

/** The text with escapes for all that breaks the line, or acts on a terminal or a CI system. */
export function oneLine(text: string): string {
  return text.replace(escaped, (character) => (character === '\n' ? '\\n' : escapeOf(character)));
}

/** The same, for text that has lines of its own. */
export function printableLines(text: string): string {
  return text.replace(escaped, (character) =>
    character === '\n' ? character : escapeOf(character),
  );
}

/** The same, cut to `maxChars` characters with `...` behind them. */
export function printable(text: string, maxChars = 80): string {
  // Cut before, because escaping megabytes takes too long, and after, because escapes are longer.
  const line = oneLine(text.slice(0, maxChars + 1));
  return line.length > maxChars ? `${line.slice(0, maxChars)}...` : line;
}

/** `\u001b`; `\x82` for a byte that is not UTF-8: see textOf. */
export function escapeOf(character: string): string {
  const code = character.charCodeAt(0);
  return isByte(code) ? `\\x${(code - 0xdc00).toString(16)}` : unicodeEscapeOf(code);
}

/** The escape that JSON uses. */
function unicodeEscapeOf(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

function isByte(code: number): boolean {
  return code >= 0xdc80 && code <= 0xdcff;
}

/**
 * JSON on one line that is safe to show on a terminal and in a log: what they would act on is
 * escaped, whatever strings the value holds. JSON.parse returns the value unchanged. Ends with a
 * newline.
 */
export function jsonLine(value: object): string {
  // JSON.stringify escapes C0 and halves of pairs. The rest can only be inside of strings.
  const json = JSON.stringify(value).replace(escaped, (character) =>
    unicodeEscapeOf(character.charCodeAt(0)),
  );
  return `${json}\n`;
}

/** The login in the URL of a master. Also the user may be a password: redis-cli takes one there. */
const masterLogin = /((rediss?|valkeys?|unix)(\+sentinel)?:\/\/).*$/is;
const urlPassword = /([a-z][a-z0-9+.-]{0,20}:\/\/[^:@/\s]*:)\S*@/i;

/** JSON-quoted, on one line, without the passwords of URLs, at most `limit` characters. */
export function quoted(text: string, limit = 80): string {
  return oneLine(JSON.stringify(cut(withoutPasswords(text), limit)));
}

/** The same for a text that was given as the address of a master: see withoutSecrets. */
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
  // Word by word, and only where there is an @: a pattern that looks for it from every :// of a
  // long text takes minutes.
  return text.replace(/\S+/g, (word) => {
    const at = word.lastIndexOf('@');
    if (at < 0) return word;
    const shown = word.slice(0, at).replace(masterLogin, '$1***') + word.slice(at);
    return shown.replace(urlPassword, '$1***@');
  });
}

/**
 * The text of an address, valid or not, with everything that may be a password replaced by `***`:
 * the whole login (redis-cli takes a password in the place of the user), a port or a database that
 * is not a number, and a query.
 */
export function withoutSecrets(text: string): string {
  const separator = schemeLength(text);
  const start = separator < 0 ? 0 : separator + 3;
  const at = text.lastIndexOf('@');
  const login = at < start ? '' : '***@';
  const afterLogin = text.slice(Math.max(start, at + 1));
  const [, hosts = '', path = '', query = ''] = /^([^/?#]*)([^?#]*)(.*)$/s.exec(afterLogin) ?? [];
  const isSocket = /^unix:/i.test(text) || (separator < 0 && hosts === '');
  const shownPath = isSocket || /^(\/\d{0,9})?$/.test(path) ? path : '/***';
  const shownQuery = query === '' || /^\?db=\d+$/.test(query) ? query : `${query[0]}***`;
  const shownHosts = hosts.split(',').map(withoutOddPort).join(',');
  return `${text.slice(0, start)}${login}${shownHosts}${shownPath}${shownQuery}`;
}

/**
 * A port that is not a number, or that follows no host, may be the password of an address whose
 * @host was left out.
 */
function withoutOddPort(host: string): string {
  return host.replace(/^(\[[^\]]*\]|[^:[]+):(?!\d{1,5}$).+$/s, '$1:***').replace(/^:.+$/s, ':***');
}

/** How many characters stand before `://`; -1: the text has no scheme. */
export function schemeLength(text: string): number {
  return /^[a-z][a-z0-9+.-]*(?=:\/\/)/i.exec(text)?.[0].length ?? -1;
}
