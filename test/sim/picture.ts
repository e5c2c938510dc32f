// A picture of lanes and bars over time, as SVG text, for light and dark pages.

export interface Bar {
  readonly kind: 'belief' | 'command' | 'key' | 'away';
  /** The owner of a bar, which decides its colour. */
  readonly owner: string;
  readonly fromMs: number;
  untilMs: number;
}

export interface HostRows {
  readonly name: string;
  readonly bars: Bar[];
}

export interface Note {
  readonly atMs: number;
  readonly text: string;
  readonly lane: string;
}

export interface Picture {
  readonly title: string;
  readonly ms: number;
  readonly lanes: readonly HostRows[];
  readonly notes: readonly Note[];
}

const size = { width: 680, left: 46, right: 30, top: 34, lane: 36, line: 18, columns: 84 };
/** The same colours on a dark page. */
const darkMode = [
  '<style>@media (prefers-color-scheme: dark) {',
  'svg { fill: #e2e8f0 } [fill="#ffffff"] { fill: #0d1117 } [stroke="#e2e8f0"] { stroke: #2d3748 }',
  '[stroke="#ffffff"] { stroke: #0d1117 }',
  '[fill="#2b6cb0"] { fill: #63b3ed } [stroke="#2b6cb0"] { stroke: #63b3ed }',
  '[fill="#c05621"] { fill: #f6ad55 } [stroke="#c05621"] { stroke: #f6ad55 }',
  '[fill="#6b46c1"] { fill: #b794f4 } [stroke="#6b46c1"] { stroke: #b794f4 }',
  '[fill="#2f855a"] { fill: #68d391 } [stroke="#2f855a"] { stroke: #68d391 }',
  '[fill="#b83280"] { fill: #f687b3 } [stroke="#b83280"] { stroke: #f687b3 }',
  '[fill="#718096"] { fill: #a0aec0 } [stroke="#718096"] { stroke: #a0aec0 }',
  '}</style>',
].join('\n');
const colours: Readonly<Record<string, string>> = { c1: '#2b6cb0', c2: '#c05621' };
const heights = { belief: 22, command: 10, key: 14, away: 26 };
const opacities = { belief: 0.3, command: 1, key: 0.75, away: 0.35 };
const legend =
  'pale: believes that it holds the lock; full: its command runs; ' +
  'on a master: its key stands; grey: frozen or down';

interface Frame {
  readonly width: number;
  readonly height: number;
  readonly title: string;
}

/** An SVG on a white or a dark page: this picture, and the charts of the benchmarks. */
export function drawingOf({ width, height, title }: Frame, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" ` +
      'font-family="system-ui, sans-serif" font-size="14" fill="#1a202c">',
    `<title>${title}</title>`,
    darkMode,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/** The lines of a text, from a place downwards; its last line is at `y + 18 * (lines - 1)`. */
export function paragraph(text: string, y: number, fontSize: number, columns: number): string[] {
  return linesOfText(text, columns).map(
    (line, index) =>
      `<text x="12" y="${y + size.line * index}" font-size="${fontSize}">${line}</text>`,
  );
}

/** A text in lines of at most so many characters, so that it can be read on a narrow screen. */
export function linesOfText(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

export function svgOf({ title, ms, lanes, notes }: Picture): string {
  const scale = (size.width - size.left - size.right) / ms;
  const x = (at: number) => (size.left + Math.min(at, ms) * scale).toFixed(1);
  const head = linesOfText(title, size.columns).length * size.line;
  const top = size.top + head;
  const middle = (index: number) => top + size.lane * (index + 0.5);
  const ticks = Array.from({ length: Math.floor(ms / 500) + 1 }, (_, index) => index * 500);
  const bottom = top + size.lane * lanes.length;
  const height = bottom + 34 + size.line * linesOfText(legend, size.columns).length;
  const bar = ({ kind, owner, fromMs, untilMs }: Bar, y: number) => {
    const width = (Number(x(untilMs)) - Number(x(fromMs))).toFixed(1);
    const fill = colours[owner] ?? '#718096';
    const height = heights[kind];
    const box = `x="${x(fromMs)}" y="${y - height / 2}" width="${width}" height="${height}"`;
    return `<rect ${box} rx="2" fill="${fill}" fill-opacity="${opacities[kind]}"/>`;
  };
  const order: readonly Bar['kind'][] = ['away', 'key', 'belief', 'command'];
  const rows = lanes.flatMap(({ name, bars }, index) => [
    `<text x="12" y="${middle(index) + 4}" font-weight="600">${name}</text>`,
    ...order.flatMap((kind) =>
      bars.filter((one) => one.kind === kind).map((one) => bar(one, middle(index))),
    ),
    ...notes
      .filter(({ lane }) => lane === name)
      .map(
        ({ atMs, text }) =>
          `<text x="${x(atMs)}" y="${middle(index) - 13}" font-size="12">▾ ${text}</text>`,
      ),
  ]);
  return drawingOf({ width: size.width, height, title }, [
    ...paragraph(title, 22, 15, size.columns),
    ...ticks.flatMap((at) => [
      `<line x1="${x(at)}" x2="${x(at)}" y1="${top - 8}" y2="${bottom}" stroke="#e2e8f0"/>`,
      `<text x="${x(at)}" y="${bottom + 18}" font-size="13" text-anchor="middle">${at} ms</text>`,
    ]),
    ...rows,
    ...paragraph(legend, bottom + 42, 13, size.columns),
  ]);
}
