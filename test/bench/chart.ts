// Figures as dots on a logarithmic scale, in panels, as SVG text: the median, and a line to a high
// percentile. The scale is logarithmic because a peer that waits for a frozen master takes ten
// thousand times as long.

import { drawingOf, linesOfText, paragraph } from '../sim/picture.ts';

export interface Panel {
  readonly title: string;
  readonly rows: readonly ChartRow[];
}

export interface ChartRow {
  readonly name: string;
  /** The median; null: the contestant did not get that far, and `note` says why. */
  readonly p50: number | null;
  /** The end of the line; the same as the median: there is no line. */
  readonly high: number | null;
  readonly note: string | null;
}

export interface Legend {
  readonly title: string;
  readonly explanation: string;
  /** The label at a point of the scale. */
  readonly labelOf: (value: number) => string;
}

/** For times in ms. */
export function timeLabelOf(ms: number): string {
  if (ms >= 1_000) return `${ms / 1_000} s`;
  return ms >= 1 ? `${ms} ms` : `${Math.round(ms * 1_000)} µs`;
}

const size = { width: 640, left: 256, right: 30, top: 34, row: 21, panel: 50 };
const columns = 84;
const isOurs = /^(redlock-run|npm package|executable|holding|waiting)/;
const isFloor = /^(floor|empty Node program)$/;

function colourOf(name: string): string {
  if (isOurs.test(name)) return '#2b6cb0';
  return isFloor.test(name) ? '#718096' : '#c05621';
}

export function chartOf({ title, explanation, labelOf }: Legend, panels: readonly Panel[]): string {
  const times = panels
    .flatMap(({ rows }) => rows.flatMap(({ p50, high }) => [p50, high]))
    .filter((ms) => ms !== null);
  const decades = {
    from: Math.floor(Math.log10(Math.min(...times))),
    to: Math.ceil(Math.log10(Math.max(...times))),
  };
  const scale = (size.width - size.left - size.right) / (decades.to - decades.from);
  const x = (ms: number) => (size.left + (Math.log10(ms) - decades.from) * scale).toFixed(1);
  const ticks = Array.from(
    { length: decades.to - decades.from + 1 },
    (_, index) => 10 ** (decades.from + index),
  );
  const caption = `${explanation}; logarithmic scale; further left is better`;
  let y = size.top + 18 * linesOfText(caption, columns).length;
  const parts = panels.flatMap(({ title: name, rows }) => {
    const top = y + 26;
    y = top + rows.length * size.row + size.panel - 26;
    const bottom = top + rows.length * size.row;
    return [
      `<text x="12" y="${top - 8}" font-weight="600">${name}</text>`,
      ...ticks.flatMap((ms) => [
        `<line x1="${x(ms)}" x2="${x(ms)}" y1="${top - 4}" y2="${bottom}" stroke="#e2e8f0"/>`,
        // Below the rows: a title may be wide.
        `<text x="${x(ms)}" y="${bottom + 15}" font-size="13" text-anchor="middle">` +
          `${labelOf(ms)}</text>`,
      ]),
      ...rows.flatMap((row, index) => rowOf(row, top + size.row * (index + 0.5), x)),
    ];
  });
  return drawingOf({ width: size.width, height: y, title }, [
    `<text x="12" y="22" font-size="15">${title}</text>`,
    ...paragraph(caption, 42, 13, columns),
    ...parts,
  ]);
}

function rowOf(
  { name, p50, high, note }: ChartRow,
  y: number,
  x: (ms: number) => string,
): string[] {
  const at = `x="${size.left - 10}" y="${y + 5}"`;
  const label = `<text ${at} text-anchor="end">${escaped(name)}</text>`;
  if (p50 === null || high === null) {
    return [
      label,
      `<text x="${size.left + 6}" y="${y + 5}" font-size="12">` +
        `${escaped(cut(note ?? 'nothing'))}</text>`,
    ];
  }
  const colour = colourOf(name);
  return [
    label,
    `<line x1="${x(p50)}" x2="${x(high)}" y1="${y}" y2="${y}" ` +
      `stroke="${colour}" stroke-width="2" stroke-opacity="0.4"/>`,
    `<circle cx="${x(p50)}" cy="${y}" r="4.5" fill="${colour}"/>`,
  ];
}

/** What has room beside the name. */
function cut(text: string): string {
  return text.length > 52 ? `${text.slice(0, 51)}…` : text;
}

function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
