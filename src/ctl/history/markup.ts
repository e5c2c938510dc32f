// Escapes foreign text for HTML and XML. XML cannot represent most control characters at all, so
// they are replaced as well.

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
