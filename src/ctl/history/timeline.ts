// The runs as a picture and as a page. The timeline is one SVG: a lane for each host, waits
// hatched, runs as bars, runs that did not happen as crosses with the reason. A text or a shape
// also tells what a colour means. The page of --html has it above a table of the same runs, the
// newest first. Pure. Both load nothing and run no script, and the page's Content-Security-Policy
// forbids it.

import { oneLine } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import { momentOf, zoneName } from '../../text/time.ts';
import { endOf, type PastRun, startOf } from './run-history.ts';
import { type Kind, kindOf, kinds, reasonOf } from './run-text.ts';
import { type Bar, type HostRows, hostRowsOf, scaleOf } from './timeline-layout.ts';

const signs: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for quoted attributes, in HTML and in XML. */
function escaped(text: string): string {
  return oneLine(text)
    .replace(/[\p{Cs}\ufffe\uffff]/gu, '\ufffd')
    .replace(/[&<>"']/g, (sign) => signs[sign] ?? '');
}

/** In pixels. */
const width = 1_200;
const [left, right] = [170, 1_180] as const;
const [titleY, legendY, axisY, lanesY] = [26, 52, 92, 104] as const;
const [rowHeight, barHeight, lanePadding] = [28, 16, 8] as const;

const colours: Readonly<
  Record<Kind | 'ink' | 'faint' | 'line' | 'paper' | 'wait', readonly [light: string, dark: string]>
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
};

/** `name`: the lock of the runs; null: several locks. */
export function renderTimeline(
  runs: readonly PastRun[],
  name: string | null,
  nowMs: number,
): string {
  // Not Math.max(...runs): the number of arguments is limited, that of runs is not.
  const latestMs = runs.reduce((last, run) => Math.max(last, Math.min(endOf(run), nowMs)), 0);
  const lastMs = runs.length === 0 ? nowMs : latestMs;
  const firstMs = runs.reduce((first, run) => Math.min(first, startOf(run)), lastMs);
  const scale = scaleOf(firstMs, lastMs, left, right);
  const lanes = hostRowsOf(runs, scale, nowMs, name === null);
  const tops: number[] = [];
  let bottom: number = lanesY;
  for (const { rows } of lanes) {
    tops.push(bottom);
    bottom += rows * rowHeight + lanePadding;
  }
  const present = new Set(runs.map(kindOf));
  const span = `${momentOf(firstMs)} to ${momentOf(lastMs)}, ${zoneName()}`;
  const title = `${name ?? 'all locks'}: ${span}`;
  const height = bottom + 12;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" ` +
      `class="timeline" role="img" aria-label="${escaped(title)}">`,
    `<style>${stylesheet()}</style>`,
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" ' +
      'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch"/>' +
      '</pattern></defs>',
    `<rect width="${width}" height="${height}" class="paper"/>`,
    `<text x="16" y="${titleY}" class="title">${escaped(title)}</text>`,
    ...legend(
      Object.entries(kinds).filter(([kind]) => present.has(kind as Kind)) as [Kind, string][],
    ),
    ...scale.ticks.flatMap((tick) => axis(scale.x(tick.at), tick.label, tick.day, bottom)),
    ...lanes.flatMap((lane, index) => laneOf(lane, tops[index] ?? lanesY)),
    `<line x1="16" y1="${bottom}" x2="${right}" y2="${bottom}" class="line"/>`,
    '</svg>\n',
  ].join('\n');
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
    '.timeline .wait{fill:url(#hatch);stroke:var(--wait);stroke-width:.75}',
    '.timeline g text{paint-order:stroke;stroke:var(--paper);stroke-width:3px}',
    '.timeline g[data-kind=missed] text{fill:var(--missed);font-weight:600}',
    '.timeline g text.inside{fill:var(--paper);stroke:none}',
    '.timeline path{fill:none;stroke-width:3;stroke-linecap:round}',
    ...Object.keys(kinds).map(
      (kind) =>
        `.timeline .${kind}{fill:var(--${kind})}.timeline path.${kind}{stroke:var(--${kind})}`,
    ),
  ].join('');
}

function legend(entries: readonly (readonly [Kind, string])[]): string[] {
  let x = 16;
  const parts = [
    `<rect x="${x}" y="${legendY - 11}" width="14" height="12" class="wait"/>`,
    textAt(x + 20, 'waited'),
  ];
  x += 84;
  for (const [kind, text] of entries) {
    const shape =
      kind === 'missed'
        ? cross(x + 7, legendY - 5)
        : `<rect x="${x}" y="${legendY - 11}" width="14" height="12" rx="2" class="${kind}"/>`;
    parts.push(shape, textAt(x + 20, text));
    x += 44 + text.length * 7;
  }
  return parts;
}

function textAt(x: number, text: string): string {
  return `<text x="${x}" y="${legendY}" class="faint">${escaped(text)}</text>`;
}

function axis(x: number, label: string, day: string | null, bottom: number): string[] {
  const at = x.toFixed(1);
  return [
    `<line x1="${at}" y1="${axisY + 4}" x2="${at}" y2="${bottom}" class="line"/>`,
    `<text x="${at}" y="${axisY}" text-anchor="middle" class="faint tick">${label}</text>`,
    ...(day === null
      ? []
      : [`<text x="${at}" y="${axisY - 14}" text-anchor="middle" class="tick">${day}</text>`]),
  ];
}

function laneOf({ host, bars }: HostRows, top: number): string[] {
  const y = top + lanePadding / 2 + rowHeight / 2 + 4;
  const shown = host.length > 20 ? `${host.slice(0, 19)}…` : host;
  return [
    `<line x1="16" y1="${top}" x2="${right}" y2="${top}" class="line"/>`,
    `<text x="16" y="${y}" class="host">${escaped(shown)}<title>${escaped(host)}</title></text>`,
    ...bars.map((bar) => barOf(bar, top + lanePadding / 2 + bar.row * rowHeight)),
  ];
}

function barOf(
  { run, kind, beganX, acquiredX, endX, text, textX, anchor }: Bar,
  top: number,
): string {
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
    text === ''
      ? ''
      : `<text x="${textX.toFixed(1)}" y="${y + 12}" text-anchor="${anchor}"` +
        `${isInside ? ' class="inside"' : ''}>${escaped(text)}</text>`,
    '</g>',
  ].join('');
}

function cross(x: number, y: number): string {
  const [a, b, c, d] = [x - 5, y - 5, x + 5, y + 5].map((part) => part.toFixed(1));
  return `<path d="M${a} ${b}L${c} ${d}M${c} ${b}L${a} ${d}" class="missed"/>`;
}

function detailOf(run: PastRun): string {
  const { name, user, host, pid, label, beganAt, waitMs, heldMs } = run;
  const spans = [
    `waited ${roughly(waitMs)}`,
    heldMs === null ? '' : `held it ${roughly(heldMs)}`,
  ].filter(Boolean);
  const began = momentOf(Date.parse(beganAt));
  const what = `${name}: ${label}, ${user}@${host}, pid ${pid}`;
  return `${what}: began ${began}, ${spans.join(', ')}: ${reasonOf(run)}`;
}

const style = `
:root{color-scheme:light dark;--text:#1f2328;--back:#ffffff;--rule:#d1d9e0;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--back:#0d1117;--rule:#3d444d;--bad:#ff6a69}}
body{margin:0 auto;max-width:1200px;padding:16px 0;background:var(--back);color:var(--text);
font:14px/1.5 system-ui,"Segoe UI","Liberation Sans",Arial,sans-serif}
h1{font-size:20px;margin:0 16px}
p{margin:4px 16px 8px}
.scroll{overflow-x:auto}
svg.timeline{display:block;width:100%;min-width:1200px;height:auto}
table{border-collapse:collapse;width:calc(100% - 32px);margin:16px;font-size:13px}
th,td{text-align:left;vertical-align:top;padding:4px 12px 4px 0;
border-top:1px solid var(--rule);overflow-wrap:break-word}
th,td.when,td.span{white-space:nowrap;font-variant-numeric:tabular-nums}
tr[data-kind=missed] td:last-child,
tr[data-kind=lost] td:last-child{color:var(--bad);font-weight:600}
@media(max-width:700px){
thead{display:none}
tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:8px 0;border-top:1px solid var(--rule)}
td{border:0;padding:0;min-width:0;overflow-wrap:anywhere}
td:empty{display:none}
td:nth-child(3),td:last-child{flex-basis:100%}
td.span::before{content:attr(data-head) " ";opacity:.7}
}
`;

const heads = ['Began', 'Lock', 'Who', 'Waited', 'Held', 'What became of it'];

/** `summary`: one sentence about what is shown. */
export function renderHtmlPage(
  runs: readonly PastRun[],
  name: string | null,
  nowMs: number,
  summary: string,
): string {
  const title = name === null ? 'History of all locks' : `History of ${name}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>${escaped(summary)}</p>
<div class="scroll">
${renderTimeline(runs, name, nowMs)}</div>
<table>
<thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead>
<tbody>
${[...runs].reverse().map(rowOf).join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

function rowOf(run: PastRun): string {
  const { name, beganAt, user, host, pid, label, waitMs, heldMs } = run;
  const cells = [
    ['when', momentOf(Date.parse(beganAt))],
    ['', name],
    ['', `${label}, ${user}@${host}, pid ${pid}`],
    ['span', roughly(waitMs)],
    ['span', heldMs === null ? '' : roughly(heldMs)],
    ['', reasonOf(run)],
  ];
  const row = cells.map(
    ([look = '', text = ''], at) =>
      `<td class="${look}" data-head="${heads[at]}">${escaped(text)}</td>`,
  );
  return `<tr data-kind="${kindOf(run)}">${row.join('')}</tr>`;
}
