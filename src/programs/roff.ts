// A man page as roff text, with the few macros of man(7) that the pages need. *Note:* roff takes a
// line that begins with a dot or an apostrophe for a macro, and prints a bare minus sign as a
// hyphen, which no shell understands; both are escaped.

/** One part of a section: a paragraph, an indented block of verbatim lines, or a list of terms. */
export type Part =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'block'; readonly lines: readonly string[] }
  | { readonly kind: 'terms'; readonly terms: readonly (readonly [term: string, text: string])[] };

export interface Section {
  readonly title: string;
  readonly parts: readonly Part[];
}

export interface Page {
  readonly name: string;
  readonly section: 1 | 5;
  /** The text behind the name in the section NAME, which apropos(1) shows. */
  readonly purpose: string;
  /** `redlock-run 1.2.3`. */
  readonly source: string;
  readonly sections: readonly Section[];
}

/** Ends with a newline. */
export function renderPage({ name, section, purpose, source, sections }: Page): string {
  const manual = section === 1 ? 'User Commands' : 'File Formats';
  const lines = [
    `.TH "${escaped(name.toUpperCase())}" "${section}" "" "${escaped(source)}" "${manual}"`,
    '.SH NAME',
    `${escaped(name)} \\- ${escaped(purpose)}`,
    ...sections.flatMap(({ title, parts }) => [
      `.SH "${escaped(title)}"`,
      ...parts.flatMap(partLines),
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

function partLines(part: Part): string[] {
  switch (part.kind) {
    case 'paragraph':
      return ['.PP', line(part.text)];
    case 'block':
      return ['.PP', '.RS 4', '.nf', ...part.lines.map(line), '.fi', '.RE'];
    case 'terms':
      return part.terms.flatMap(([term, text]) => ['.TP', `\\fB${escaped(term)}\\fR`, line(text)]);
  }
}

function line(text: string): string {
  return /^[.']/.test(text) ? `\\&${escaped(text)}` : escaped(text);
}

function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll("'", '\\(aq')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll('`', '\\(ga');
}
