// Foreign text, such as the input of a user, an error of a server or the name of a host, made safe
// for a terminal or a log: on one line, without control characters, cut to a length, and without
// passwords. *Invariant:* every message quotes by these functions, so that none has two lines or
// shows a secret.

/**
 * Control characters (C0, DEL, C1), separators of lines and paragraphs, the byte order mark,
 * characters that change the direction of text, and halves of surrogate pairs.
 */
export const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}\ufeff]/gu;

/** The text with escapes for every character that breaks the line or acts on the terminal. */
export function oneLine(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' ? '\\n' : escapeOf(character),
  );
}

/** The same, for text that has lines of its own. */
export function printableLines(text: string): string {
  return text.replace(unprintable, (character) =>
    character === '\n' ? character : escapeOf(character),
  );
}

/** The same, cut to `mostChars` characters with `...` behind them. */
export function printable(text: string, mostChars = 80): string {
  // Cut before, because escaping megabytes takes too long, and after, because escapes are longer.
  const line = oneLine(text.slice(0, mostChars + 1));
  return line.length > mostChars ? `${line.slice(0, mostChars)}...` : line;
}

/** `\u001b`; `\x82` for a byte that is not UTF-8: see textOf. */
function escapeOf(character: string): string {
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

// Bytes to text and back without loss, also where the bytes are not UTF-8. Each byte that is not
// part of UTF-8 becomes half of a surrogate pair, as Python's "surrogateescape" does (PEP 383). So
// a value of a server can be compared as text, and sent back unchanged.

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Single halves of surrogate pairs that stand for bytes; complete pairs do not match. */
const escapedBytes = /[\udc80-\udcff]/u;
const allEscapedBytes = new RegExp(escapedBytes, 'gu');

/** The bytes as text; `bytesOf` gives the same bytes back. */
export function textOf(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    return partsOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).join('');
  }
}

/** The bytes of a text from `textOf`: the string itself where its UTF-8 is the same. */
export function bytesOf(text: string): Buffer | string {
  if (!escapedBytes.test(text)) return text;
  const parts = [...text].map((character) =>
    escapedBytes.test(character)
      ? Buffer.of(character.charCodeAt(0) - 0xdc00)
      : Buffer.from(character),
  );
  return Buffer.concat(parts);
}

/** The text with bytes that are not UTF-8 written as escapes, and nothing else changed. */
export function withBytesEscaped(text: string): string {
  return text.replace(allEscapedBytes, escapeOf);
}

/** Decodes character by character. It is slow, but such texts are rare. */
function partsOf(bytes: Buffer): string[] {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at);
    parts.push(
      length === 0
        ? String.fromCharCode(0xdc00 + (bytes[at] ?? 0))
        : bytes.toString('utf8', at, at + length),
    );
    at += Math.max(1, length);
  }
  return parts;
}

/** The length of a character whose first byte is below this, and not below the one before. */
const lengths = [
  [0x80, 1],
  [0xc2, 0],
  [0xe0, 2],
  [0xf0, 3],
  [0xf5, 4],
] as const;

/** The length in bytes of the UTF-8 character at `at`; 0: there is none. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0;
  const [, length = 0] = lengths.find(([below]) => first < below) ?? [];
  const character = bytes.subarray(at, at + length);
  return Buffer.from(character.toString()).equals(character) ? length : 0;
}

/**
 * JSON on one line that is safe to show on a terminal: characters that a terminal would act on are
 * escaped, whatever strings the value holds. JSON.parse returns the value unchanged. Ends with a
 * newline.
 */
export function jsonLine(value: object): string {
  // JSON.stringify escapes C0 and halves of pairs. The others can only stand inside of strings.
  const json = JSON.stringify(value).replace(unprintable, (character) =>
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
