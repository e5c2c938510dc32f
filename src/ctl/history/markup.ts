// Text of others as markup. Not a template language. The surprise: escaping alone is not enough: XML has no way at all to write most
// control characters, and one of them would make the whole picture unreadable.

import { oneLine } from '../../text/printable.ts';

const signs: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for quoted attributes, in HTML and in XML. */
export function escaped(text: string): string {
  return oneLine(text)
    .replace(/[\p{Cs}\ufffe\uffff]/gu, '\ufffd')
    .replace(/[&<>"']/g, (sign) => signs[sign] ?? '');
}
