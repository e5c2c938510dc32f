// Curves over one number, one line each with its name in the right margin, both scales logarithmic,
// as SVG text. Names are moved apart where lines end close to one another; a curve that ends before
// the margin is led to its name by dots.

import { drawingOf, linesOfText, paragraph } from '../sim/picture.ts';

export interface Curve {
  readonly name: string;
  /** By the number on the x axis; both above 0. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Axes {
  readonly title: string;
  readonly caption: string;
  readonly unitOf: (y: number) => string;
}

const size = { width: 640, left: 66, right: 180, top: 44, plot: 320, bottom: 40, name: 18 };
const columns = 84;
const peers = ['#c05621', '#2f855a', '#6b46c1', '#b83280'];

export function linesOf({ title, caption, unitOf }: Axes, curves: readonly Curve[]): string {
  const all = curves.flatMap(({ points }) => points);
  const xs = [...new Set(all.map(([x]) => x))].sort((a, b) => a - b);
  const ys = all.map(([, y]) => y);
  const ticks = ticksBetween(Math.min(...ys), Math.max(...ys));
  const top = size.top + 18 * linesOfText(caption, columns).length;
  const [bottom, right] = [top + size.plot, size.width - size.right];
  const height = bottom + size.bottom;
  const across = scaleOf([xs[0] ?? 1, xs.at(-1) ?? 10], [size.left, right]);
  const up = scaleOf([ticks[0] ?? 1, ticks.at(-1) ?? 10], [bottom, top]);
  return drawingOf({ width: size.width, height, title }, [
    `<text x="12" y="22" font-size="15">${title}</text>`,
    ...paragraph(caption, 42, 13, columns),
    ...ticks.flatMap((y) => [
      `<line x1="${size.left}" x2="${right}" y1="${up(y)}" y2="${up(y)}" stroke="#e2e8f0"/>`,
      `<text x="${size.left - 8}" y="${Number(up(y)) + 4}" font-size="13" text-anchor="end">` +
        `${unitOf(y)}</text>`,
    ]),
    ...xs.map(
      (x) =>
        `<text x="${across(x)}" y="${bottom + 20}" font-size="13" text-anchor="middle">${x}</text>`,
    ),
    ...curves.flatMap((curve, index) => drawn(curve, colourOf(curve.name, index), across, up)),
    ...namesOf(curves, across, up),
  ]);
}

type Scale = (value: number) => string;

function scaleOf(
  [from, to]: readonly [number, number],
  [start, end]: readonly [number, number],
): Scale {
  const share = (value: number) =>
    (Math.log(value) - Math.log(from)) / (Math.log(to) - Math.log(from));
  return (value) => (start + share(value) * (end - start)).toFixed(1);
}

/** 1, 2, 5, 10, 20 and so on, so that all values lie between the first and the last. */
function ticksBetween(least: number, most: number): number[] {
  const steps = Array.from(
    { length: 18 },
    (_, index) => ([1, 2, 5][index % 3] ?? 1) * 10 ** (Math.floor(index / 3) - 1),
  );
  const first = steps.findLastIndex((step) => step <= least);
  const last = steps.findIndex((step) => step >= most);
  return steps.slice(Math.max(0, first), last + 1);
}

function drawn({ points }: Curve, colour: string, across: Scale, up: Scale): string[] {
  const places = points.map(([x, y]) => `${across(x)},${up(y)}`);
  return [
    `<polyline points="${places.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...points.map(([x, y]) => `<circle cx="${across(x)}" cy="${up(y)}" r="3.5" fill="${colour}"/>`),
  ];
}

function namesOf(curves: readonly Curve[], across: Scale, up: Scale): string[] {
  const margin = size.width - size.right;
  let lowest = Number.NEGATIVE_INFINITY;
  const ends = curves.map(({ name, points }, index) => {
    const [x, y] = points.at(-1) ?? [1, 1];
    return { name, colour: colourOf(name, index), x: Number(across(x)), y: Number(up(y)) };
  });
  return ends
    .sort((a, b) => a.y - b.y)
    .flatMap(({ name, colour, x, y }) => {
      lowest = Math.max(y, lowest + size.name);
      const dots =
        `<line x1="${x + 8}" y1="${y}" x2="${margin + 6}" y2="${lowest.toFixed(1)}" ` +
        `stroke="${colour}" stroke-dasharray="1 5" stroke-width="1.5"/>`;
      const label = `<text x="${margin + 12}" y="${(lowest + 5).toFixed(1)}" fill="${colour}">`;
      return [...(x < margin - 1 ? [dots] : []), `${label}${name}</text>`];
    });
}

function colourOf(name: string, index: number): string {
  if (name.startsWith('redlock-run')) return '#2b6cb0';
  return name === 'floor' ? '#718096' : (peers[index % peers.length] ?? '#c05621');
}
