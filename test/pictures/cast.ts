// What a terminal was sent, and when: an asciicast of version 2
// (https://docs.asciinema.org/manual/asciicast/v2/). Its markers have the text of the screen at
// the moments that are compared.

export interface Moment {
  /** Since the beginning. */
  readonly seconds: number;
  readonly text: string;
}

export interface Cast {
  readonly columns: number;
  readonly rows: number;
  /** What the terminal was sent. */
  readonly events: readonly Moment[];
  readonly marks: readonly Moment[];
}

export function textOfCast({ columns, rows, events, marks }: Cast): string {
  const lines = [
    ...events.map(({ seconds, text }) => [Number(seconds.toFixed(3)), 'o', text] as const),
    ...marks.map(({ seconds, text }) => [Number(seconds.toFixed(3)), 'm', text] as const),
  ].sort(([a], [b]) => a - b);
  const header = { version: 2, width: columns, height: rows };
  return [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

export function castOf(file: string): Cast {
  const [header = '', ...lines] = file.trimEnd().split('\n');
  const { width, height } = JSON.parse(header);
  const all: [number, string, string][] = lines.map((line) => JSON.parse(line));
  const of = (kind: string) =>
    all.flatMap(([seconds, is, text]) => (is === kind ? [{ seconds, text }] : []));
  return { columns: width, rows: height, events: of('o'), marks: of('m') };
}

/** The texts at the marks, with what differs from run to run in capitals. */
export function storyOf({ marks }: Cast): string[] {
  return marks.map(({ text }) =>
    text
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/\b(\d+m)?\d+(\.\d+)?s\b/g, 'SPAN')
      .replace(/\bpid \d+/g, 'pid PID')
      .replace(/^(\[\d+\]) \d+$/gm, '$1 PID')
      .replace(/^\d+ (?=dump)/gm, 'PID ')
      .replace(/[\u2800-\u28ff]/g, 'SPINNER')
      // The length of a time decides where a line is folded.
      .replace(/\s+/g, ' ')
      .replace(/ (?=web\d\$|---)/g, '\n'),
  );
}
