// The runs as a picture. The timeline is one SVG: a lane for what operators did, and one for each
// host, waits hatched, runs as bars, runs that did not happen as crosses with the reason. A text or
// a shape also shows what a colour means. Pure. It loads nothing and runs no script.

import { oneLine } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import { momentOf, zoneName } from '../../text/time.ts';
import { endOf, type PastAct, type PastRun, startOf } from './run-history.ts';
import { actTextOf, type Kind, kindOf, kinds, reasonOf, waitedText } from './run-text.ts';
import {
  type Bar,
  type Frame,
  type HostRows,
  hostRowsOf,
  type Mark,
  marksOf,
  scaleOf,
  type Tick,
} from './timeline-layout.ts';

/** What a picture or a page shows. */
export interface Shown {
  readonly runs: readonly PastRun[];
  readonly acts: readonly PastAct[];
  /** The tokens of the freezes that bar new runs at this moment. */
  readonly standing: ReadonlySet<string>;
  /** The lock of all this; null: several locks. */
  readonly name: string | null;
  readonly nowMs: number;
}

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

/** In pixels. */
const [rowHeight, barHeight, lanePadding, hostHeight] = [28, 16, 8, 20] as const;
const [margin, legendHeight] = [16, 20] as const;

const colours: Readonly<
  Record<
    Kind | 'ink' | 'faint' | 'line' | 'paper' | 'wait' | 'act',
    readonly [light: string, dark: string]
  >
> = {
  ink: ['#1f2328', '#e6edf3'],
  faint: ['#59636e', '#9198a1'],
  line: ['#d1d9e0', '#3d444d'],
  paper: ['#ffffff', '#0d1117'],
  wait: ['#8c959f', '#7d8590'],
  done: ['#1a7f64', '#2ea988'],
  failed: ['#c4590a', '#f0883e'],
  'max-run': ['#8250df', '#b083f0'],
  stopped: ['#57606a', '#8b949e'],
  lost: ['#a40e26', '#ff7b72'],
  vanished: ['#bc4c00', '#db6d28'],
  running: ['#0969da', '#4493f8'],
  missed: ['#cf222e', '#ff6a69'],
  act: ['#0f6f8f', '#56b8d6'],
};

export function renderTimeline(shown: Shown, frame: Frame): string {
  const { runs, acts, standing, name, nowMs } = shown;
  const [firstMs, lastMs] = spanOf(shown);
  const scale = scaleOf(firstMs, lastMs, frame);
  const { rows, marks } = marksOf(acts, standing, scale, nowMs, name === null);
  const people = { host: 'people', rows, marks, bars: [] };
  const hosts = hostRowsOf(runs, scale, nowMs, name === null);
  const lanes: Lane[] = [
    ...(rows > 0 ? [people] : []),
    ...hosts.map((lane) => ({ ...lane, marks: [] })),
  ];
  const heading = headingOf(shown, firstMs, lastMs, frame);
  const axisY = heading.bottom + 40;
  const tops: number[] = [];
  let bottom = axisY + 12;
  for (const lane of lanes) {
    tops.push(bottom);
    bottom += lane.rows * rowHeight + lanePadding + (frame.isNarrow ? hostHeight : 0);
  }
  const top = tops[0] ?? bottom;
  const [width, height] = [frame.width, bottom + 12];
  const hatch = `hatch-${width}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" ` +
      `class="timeline" role="img" aria-label="${escaped(heading.title)}">`,
    `<style>${stylesheet()}</style>`,
    `<defs><pattern id="${hatch}" width="6" height="6" patternUnits="userSpaceOnUse" ` +
      'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch"/>' +
      `</pattern></defs><g fill="url(#${hatch})">`,
    `<rect width="${width}" height="${height}" class="paper"/>`,
    ...heading.parts,
    ...scale.ticks.flatMap((tick) => axis(scale.x(tick.at), axisY, tick, bottom, frame)),
    ...(name === null ? [] : marks.map((mark) => bandOf(mark, top, bottom))),
    ...lanes.flatMap((lane, index) => laneOf(lane, tops[index] ?? top, frame)),
    `<line x1="${margin}" y1="${bottom}" x2="${frame.right}" y2="${bottom}" class="line"/>`,
    '</g></svg>\n',
  ].join('\n');
}

/** From the first to the last that is shown. */
function spanOf({
  runs,
  acts,
  standing,
  nowMs,
}: Shown): readonly [firstMs: number, lastMs: number] {
  // Not Math.max(...runs): the number of arguments is limited, that of runs is not.
  const actsMs = acts.map(({ at }) => Date.parse(at));
  const ends = [...runs.map((run) => Math.min(endOf(run), nowMs)), ...actsMs];
  const isFrozen = acts.some(({ token }) => standing.has(token));
  const latestMs = ends.reduce((last, ms) => Math.max(last, ms), 0);
  const lastMs = ends.length === 0 || isFrozen ? nowMs : latestMs;
  const starts = [...runs.map(startOf), ...actsMs];
  return [starts.reduce((first, ms) => Math.min(first, ms), lastMs), lastMs];
}

function stylesheet(): string {
  const variables = (which: 0 | 1) =>
    Object.entries(colours)
      .map(([name, pair]) => `--${name}:${pair[which]}`)
      .join(';');
  return [
    `.timeline{${variables(0)};color-scheme:light dark;` +
      'font:12px system-ui,"Segoe UI","Liberation Sans",Arial,sans-serif}',
    `@media(prefers-color-scheme:dark){.timeline{${variables(1)}}}`,
    '.timeline text{fill:var(--ink)}.timeline .title{font-size:15px;font-weight:600}',
    '.timeline .host{font-weight:600}.timeline .faint{fill:var(--faint)}',
    '.timeline .paper{fill:var(--paper)}.timeline .line{stroke:var(--line)}',
    '.timeline .hatch{stroke:var(--wait);stroke-width:3}',
    '.timeline .wait{stroke:var(--wait);stroke-width:.75}',
    '.timeline g text{paint-order:stroke;stroke:var(--paper);stroke-width:3px}',
    '.timeline g[data-kind=missed] text{fill:var(--missed);font-weight:600}',
    '.timeline g text.inside{fill:var(--paper);stroke:none}',
    '.timeline .act,.timeline path.act{fill:var(--act);stroke:none}',
    '.timeline .band{fill:var(--act);fill-opacity:.1}.timeline .moment{fill:var(--act)}',
    '.timeline path{fill:none;stroke-width:3;stroke-linecap:round}',
    ...Object.keys(kinds).map(
      (kind) =>
        `.timeline .${kind}{fill:var(--${kind})}.timeline path.${kind}{stroke:var(--${kind})}`,
    ),
  ].join('');
}

/** The title and the legend, and where they end. */
function headingOf({ runs, acts, name }: Shown, firstMs: number, lastMs: number, frame: Frame) {
  const what = name ?? 'all locks';
  const span = `${momentOf(firstMs)} to ${momentOf(lastMs)}, ${zoneName()}`;
  const title = `${what}: ${span}`;
  const spanY = frame.isNarrow ? 46 : 26;
  const shortName = what.length > 34 ? `${what.slice(0, 33)}…` : what;
  const titles = frame.isNarrow
    ? [textAt(margin, 26, shortName, 'title'), textAt(margin, spanY, span, 'faint')]
    : [textAt(margin, spanY, title, 'title')];
  const present = new Set<string>(runs.map(kindOf));
  const entries = [
    ['wait', 'waited'] as const,
    ...Object.entries(kinds).filter(([kind]) => present.has(kind)),
    ...(acts.length === 0 ? [] : [['act', 'what people did'] as const]),
  ];
  let [x, y] = [margin as number, spanY + 26];
  const parts = entries.flatMap(([kind, text]) => {
    const entryPx = 44 + text.length * 7;
    if (x > margin && x + entryPx > frame.width) [x, y] = [margin, y + legendHeight];
    const at = x;
    x += entryPx;
    return [signOf(kind, at, y - 11), textAt(at + 20, y, text, 'faint')];
  });
  return { title, parts: [...titles, ...parts], bottom: y };
}

/** What the legend shows of a kind. */
function signOf(kind: string, x: number, y: number): string {
  if (kind === 'missed') return cross(x + 7, y + 6);
  if (kind === 'act') return diamond(x + 7, y + 6);
  const look = kind === 'wait' ? 'class="wait"' : `rx="2" class="${kind}"`;
  return `<rect x="${x}" y="${y}" width="14" height="12" ${look}/>`;
}

function textAt(x: number, y: number, text: string, look: string): string {
  return `<text x="${x}" y="${y}" class="${look}">${escaped(text)}</text>`;
}

function axis(x: number, y: number, { label, day }: Tick, bottom: number, frame: Frame): string[] {
  const text = (textY: number, look: string, what: string) => {
    // At an edge of the picture there may be no room for half of it.
    const half = 4 + what.length * 3.5;
    const mid = Math.min(Math.max(x, half), frame.width - half);
    const place = `x="${mid.toFixed(1)}" y="${textY}" text-anchor="middle"`;
    return `<text ${place} class="${look}">${what}</text>`;
  };
  return [
    `<line x1="${x.toFixed(1)}" y1="${y + 4}" x2="${x.toFixed(1)}" y2="${bottom}" class="line"/>`,
    text(y, 'faint tick', label),
    ...(day === null ? [] : [text(y - 14, 'tick', day)]),
  ];
}

/** The host lanes while the lock was frozen, or when a person did something. */
function bandOf({ atX, endX }: Mark, top: number, bottom: number): string {
  const widthPx = endX === null ? 1 : endX - atX;
  return (
    `<rect x="${atX.toFixed(1)}" y="${top}" width="${widthPx.toFixed(1)}" ` +
    `height="${bottom - top}" class="${endX === null ? 'moment' : 'band'}"/>`
  );
}

interface Lane extends HostRows {
  readonly marks: readonly Mark[];
}

function laneOf({ host, bars, marks }: Lane, top: number, frame: Frame): string[] {
  const below = top + lanePadding / 2 + (frame.isNarrow ? hostHeight : 0);
  const y = frame.isNarrow ? top + hostHeight : below + rowHeight / 2 + 4;
  const maxChars = frame.isNarrow ? 40 : 20;
  const shown = host.length > maxChars ? `${host.slice(0, maxChars - 1)}…` : host;
  const name = `${escaped(shown)}<title>${escaped(host)}</title>`;
  return [
    `<line x1="${margin}" y1="${top}" x2="${frame.right}" y2="${top}" class="line"/>`,
    `<text x="${margin}" y="${y}" class="host">${name}</text>`,
    ...marks.map((mark) => markOf(mark, below + mark.row * rowHeight)),
    ...bars.map((bar) => barOf(bar, below + bar.row * rowHeight)),
  ];
}

function markOf(mark: Mark, top: number): string {
  const { act, atX, endX } = mark;
  const y = top + (rowHeight - barHeight) / 2;
  const title = `${act.name}: ${momentOf(Date.parse(act.at))}: ${actTextOf(act)}`;
  return [
    `<g class="act" data-act="${act.act}"><title>${escaped(title)}</title>`,
    endX === null
      ? diamond(atX, y + barHeight / 2)
      : `<rect x="${atX.toFixed(1)}" y="${y}" width="${(endX - atX).toFixed(1)}" ` +
        `height="${barHeight}" rx="2" class="act"/>`,
    labelOf(mark, y, endX !== null && mark.textX > atX && mark.textX < endX),
    '</g>',
  ].join('');
}

function labelOf({ text, textX, anchor }: Bar | Mark, y: number, isInside: boolean): string {
  if (text === '') return '';
  return (
    `<text x="${textX.toFixed(1)}" y="${y + 12}" text-anchor="${anchor}"` +
    `${isInside ? ' class="inside"' : ''}>${escaped(text)}</text>`
  );
}

function barOf(bar: Bar, top: number): string {
  const { run, kind, beganX, acquiredX, endX, textX } = bar;
  const y = top + (rowHeight - barHeight) / 2;
  const rect = (from: number, to: number, look: string) =>
    `<rect x="${from.toFixed(1)}" y="${y}" ` +
    `width="${Math.max(to - from, 0).toFixed(1)}" height="${barHeight}" ${look}/>`;
  const isInside = textX > acquiredX && textX < endX;
  return [
    `<g class="run" data-kind="${kind}"><title>${escaped(detailOf(run))}</title>`,
    acquiredX - beganX >= 1 ? rect(beganX, acquiredX, 'class="wait"') : '',
    kind === 'missed'
      ? cross(endX, y + barHeight / 2)
      : rect(acquiredX, endX, `rx="2" class="${kind}"`),
    labelOf(bar, y, isInside),
    '</g>',
  ].join('');
}

function cross(x: number, y: number): string {
  const [a, b, c, d] = [x - 5, y - 5, x + 5, y + 5].map((part) => part.toFixed(1));
  return `<path d="M${a} ${b}L${c} ${d}M${c} ${b}L${a} ${d}" class="missed"/>`;
}

function diamond(x: number, y: number): string {
  const [left, right, top, bottom] = [x - 6, x + 6, y - 6, y + 6].map((part) => part.toFixed(1));
  const at = `M${x.toFixed(1)} ${top}L${right} ${y}L${x.toFixed(1)} ${bottom}L${left} ${y}Z`;
  return `<path d="${at}" class="act"/>`;
}

function detailOf(run: PastRun): string {
  const { name, user, host, pid, label, beganAt, heldMs } = run;
  const waited = waitedText(run);
  const spans = [
    waited && `waited ${waited}`,
    heldMs === null ? '' : `held it ${roughly(heldMs)}`,
  ].filter(Boolean);
  const began = momentOf(Date.parse(beganAt));
  const what = `${name}: ${label}, ${user}@${host}, pid ${pid}`;
  return `${what}: began ${began}, ${spans.join(', ')}: ${reasonOf(run)}`;
}
