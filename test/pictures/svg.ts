// A cast as one SVG: a film of screens, moved by a style and no script, so that it also moves where
// a page shows it as an image. It is light or dark as the page is. A reader without motion, and a
// program that knows no style, sees the last screen. xterm.js decides what a screen shows.

import { type IBufferCell, Terminal } from '@xterm/headless';
import type { Cast } from './cast.ts';

/** In pixels. */
const cell = { width: 8.4, height: 18 } as const;
const margin = 12;
/** What comes within this time is one screen. */
const togetherSeconds = 0.06;
const lastScreenSeconds = 5;

interface Screen {
  readonly seconds: number;
  /** Each row as SVG; '' for an empty one. */
  readonly rows: readonly string[];
}

export async function filmOf(cast: Cast, title: string): Promise<string> {
  const screens = await screensOf(cast);
  const end = (screens.at(-1)?.seconds ?? 0) + lastScreenSeconds;
  const height = cast.rows * cell.height;
  const ids = new Map<string, string>();
  const frames = screens.map(({ rows }, index) => {
    const uses = rows.flatMap((row, y) => {
      if (row === '') return [];
      const id = ids.get(row) ?? `r${ids.size.toString(36)}`;
      ids.set(row, id);
      return [`<use href="#${id}" y="${y * cell.height}"/>`];
    });
    return `<g transform="translate(0 ${index * height})">${uses.join('')}</g>`;
  });
  const steps = screens.map(({ seconds }, index) => {
    const percent = Number(((seconds / end) * 100).toFixed(2));
    return `${percent}%{transform:translateY(${-index * height}px)}`;
  });
  const last = -(screens.length - 1) * height;
  const rules = [
    `.film{transform:translateY(${last}px);animation:film ${end.toFixed(1)}s step-end infinite}`,
    '@media(prefers-reduced-motion:reduce){.film{animation:none}}',
    `@keyframes film{${steps.join('')}}`,
  ];
  const rows = [...ids].map(([row, id]) => `<g id="${id}">${row}</g>`);
  return page(cast, title, rules, [
    `<defs>${rows.join('\n')}</defs>`,
    `<svg aria-hidden="true" x="${margin}" y="${margin}" ` +
      `width="${widthOf(cast)}" height="${height}">`,
    `<g class="film">${frames.join('\n')}</g></svg>`,
  ]);
}

/** The last screen alone. */
export async function stillOf(cast: Cast, title: string): Promise<string> {
  const rows = (await screensOf(cast)).at(-1)?.rows ?? [];
  const lines = rows.map((row, y) => `<g transform="translate(0 ${y * cell.height})">${row}</g>`);
  return page(
    cast,
    title,
    [],
    [`<g transform="translate(${margin} ${margin})">${lines.join('\n')}</g>`],
  );
}

const widthOf = ({ columns }: Cast) => Math.ceil(columns * cell.width);

function page(cast: Cast, title: string, rules: readonly string[], parts: readonly string[]) {
  const width = widthOf(cast) + 2 * margin;
  const height = cast.rows * cell.height + 2 * margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" font-size="14" ` +
      'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace">',
    `<title>${escaped(title)}</title>`,
    `<style>text{white-space:pre}${stylesheet()}${rules.join('\n')}</style>`,
    `<rect class="paper" width="100%" height="100%" rx="8"/>`,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** The eight colours of a terminal and the three of ours, light and dark. */
const colours: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  paper: ['#f6f8fa', '#161b22'],
  ink: ['#1f2328', '#e6edf3'],
  faint: ['#59636e', '#9198a1'],
  c0: ['#1f2328', '#e6edf3'],
  c1: ['#cf222e', '#ff7b72'],
  c2: ['#116329', '#3fb950'],
  c3: ['#7d4e00', '#d29922'],
  c4: ['#0969da', '#58a6ff'],
  c5: ['#8250df', '#bc8cff'],
  c6: ['#1b7c83', '#39c5cf'],
  c7: ['#59636e', '#b1bac4'],
};

function stylesheet(): string {
  const rules = (at: 0 | 1) =>
    Object.entries(colours).map(([name, both]) => `.${name}{fill:${both[at]}}`);
  const weights = '.b{font-weight:600}.i{fill-opacity:.15}';
  return `${rules(0).join('')}${weights}@media(prefers-color-scheme:dark){${rules(1).join('')}}`;
}

/** Each screen that differs from the one before it, and when it is seen. */
async function screensOf({ columns, rows, events }: Cast): Promise<Screen[]> {
  const terminal = new Terminal({ cols: columns, rows, allowProposedApi: true });
  const screens: Screen[] = [];
  for (const [at, { seconds, text }] of events.entries()) {
    await new Promise<void>((resolve) => terminal.write(text, resolve));
    const next = events[at + 1]?.seconds ?? Number.POSITIVE_INFINITY;
    if (next - seconds < togetherSeconds) continue;
    const lines = Array.from({ length: rows }, (_, y) => rowOf(terminal, y));
    const isNew = lines.some((line, y) => line !== screens.at(-1)?.rows[y]);
    if (isNew) screens.push({ seconds: screens.length === 0 ? 0 : seconds, rows: lines });
  }
  terminal.dispose();
  return screens;
}

/** A row of the screen: its parts of one look, each at its column. */
function rowOf(terminal: Terminal, y: number): string {
  const buffer = terminal.buffer.active;
  const line = buffer.getLine(buffer.viewportY + y);
  const parts: { x: number; text: string; look: string }[] = [];
  for (let x = 0; x < terminal.cols; x += 1) {
    const one = line?.getCell(x);
    const text = one?.getChars() || ' ';
    const look = one === undefined ? 'ink' : lookOf(one);
    const last = parts.at(-1);
    if (last?.look === look) last.text += text;
    else parts.push({ x, text, look });
  }
  return parts
    .map((part) => ({ ...part, text: part.text.trimEnd() }))
    .filter(({ text }) => text !== '')
    .map(({ x, text, look }) => {
      const indent = text.length - text.trimStart().length;
      const left = ((x + indent) * cell.width).toFixed(1);
      const width = ([...text].length - indent) * cell.width;
      const words = escaped(text.trimStart());
      const place = `x="${left}" y="13" textLength="${width.toFixed(1)}"`;
      return `<text ${place} class="${look}">${words}</text>`;
    })
    .join('');
}

function lookOf(one: IBufferCell): string {
  const bold = one.isBold() ? ' b' : '';
  if (one.isDim() || (one.isFgPalette() && one.getFgColor() === 8)) return `faint${bold}`;
  return `${one.isFgPalette() ? `c${one.getFgColor() % 8}` : 'ink'}${bold}`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A page of ours, which is XML as well, as an SVG of this size in pixels. */
export function pictureOf(page: string, width: number, height: number): string {
  const [, title, style, body] =
    /(<title>.*<\/title>)\s*(<style>.*<\/style>).*<body>(.*)<\/body>/s.exec(page) ?? [];
  const size = `width="${width}" height="${height}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${title}<foreignObject ${size}>` +
    `<body xmlns="http://www.w3.org/1999/xhtml">${style}${body}</body></foreignObject></svg>\n`
  );
}
