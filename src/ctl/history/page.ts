// The page of --html: a timeline above a table of the same rows, the newest first. Pure. Each bar
// links to its row, and is placed in percent, so that the browser draws it for a screen of any
// width. The page loads nothing and runs no script, and its Content-Security-Policy forbids it.

import { oneLine } from '../../text/foreign-text.ts';
import { momentOf } from '../../text/time.ts';
import { kinds, type Row, sentenceOf } from './run-text.ts';

const colours: Readonly<Record<Row['kind'], readonly [light: string, dark: string]>> = {
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

const style = `
:root{color-scheme:light dark;--text:light-dark(#1f2328,#e6edf3);--back:light-dark(#fff,#0d1117);
--rule:light-dark(#d1d9e0,#3d444d);--grey:light-dark(#8c959f,#7d8590)}
${Object.entries(colours)
  .map(([kind, pair]) => `.${kind}{--colour:light-dark(${pair})}`)
  .join('')}
body{margin:0 auto;max-width:1200px;padding:16px 0;background:var(--back);color:var(--text);
font:14px/1.5 system-ui,"Segoe UI","Liberation Sans",Arial,sans-serif}
h1{font-size:20px;margin:0 16px}
p{margin:4px 16px 8px}
ul{display:flex;flex-wrap:wrap;gap:0 16px;margin:8px 16px;padding:0;list-style:none}
li i{display:inline-block;width:14px;height:12px;border-radius:2px;margin-right:6px;
color:var(--back);font:11px/12px sans-serif;text-align:center;vertical-align:-1px}
li i,a{background:var(--colour)}
.timeline{position:relative;margin:0 16px;padding:40px 40px 0 160px}
.axis{position:absolute;inset:0 40px 0 160px}
time{position:absolute;top:0;bottom:0;width:80px;margin-left:-40px;text-align:center;
font-size:12px;background:linear-gradient(var(--rule) 0 0) 50% 38px/1px 100% no-repeat}
section{position:relative;border-top:1px solid var(--rule);padding:4px 0}
h2{position:absolute;right:100%;width:150px;margin:0 10px 0 0;font-size:13px;
overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
section div{position:relative}
a{position:absolute;height:18px;min-width:4px;display:flex;border-radius:2px;line-height:18px;
font-size:12px;color:var(--back);text-decoration:none;white-space:nowrap}
a:focus{outline:2px solid var(--text)}
a span{flex:1;overflow:hidden;container-type:inline-size}
a b{font-weight:normal;padding:0 4px}
@container(max-width:60px){a b{display:none}}
a.point{background:none;color:var(--colour)}
a.point span{overflow:visible;container-type:normal}
a.point b{padding:0}
i.wait{flex:none;max-width:100%;
background:repeating-linear-gradient(45deg,var(--grey) 0 2px,var(--back) 2px 5px)}
table{border-collapse:collapse;width:calc(100% - 32px);margin:16px;font-size:13px}
th,td{text-align:left;vertical-align:top;padding:4px 12px 4px 0;
border-top:1px solid var(--rule);overflow-wrap:break-word}
th,td.when,td.span{white-space:nowrap;font-variant-numeric:tabular-nums}
tr.missed td:last-child,tr.lost td:last-child{color:var(--colour);font-weight:600}
tr:target{outline:2px solid var(--text)}
@media(max-width:700px){
.timeline{padding-left:40px}
.axis{left:40px}
time:not(:nth-child(3n+1)){display:none}
h2{position:static;width:auto;margin:0 0 2px -40px}
thead{display:none}
tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:8px 0;border-top:1px solid var(--rule)}
td{border:0;padding:0;min-width:0;overflow-wrap:anywhere}
td:empty{display:none}
td:nth-child(3),td:last-child{flex-basis:100%}
td.span::before{content:attr(data-head) " ";opacity:.7}
}
`;

const heads = ['Began', 'Lock', 'Who', 'Waited', 'Held', 'What became of it'];

/**
 * `rows`: in the order of time. `name`: the lock of all of them; null: there are several.
 * `summary`: one sentence about what is shown. `nowMs`: the end of what has not ended.
 */
export function renderHtmlPage(
  rows: readonly Row[],
  name: string | null,
  summary: string,
  nowMs: number,
): string {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const title = escaped(name === null ? 'History of all locks' : `History of ${name}`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title}</title>
<style>${style}</style>
</head>
<body>
<h1>${title}</h1>
<p>${escaped(summary)}; times: ${escaped(zone)}</p>
${renderLegend(rows)}
${renderTimeline(rows, name === null, nowMs)}
<table>
<thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead>
<tbody>
${rows.map(renderRow).reverse().join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

function renderRow(row: Row, index: number): string {
  const cells = [
    ['when', momentOf(row.atMs)],
    ['', row.name],
    ['', whoIn(row)],
    ['span', row.spans[0]],
    ['span', row.spans[1]],
    ['', sentenceOf(row.end)],
  ] as const;
  const shown = cells.map(
    ([look, text], at) => `<td class="${look}" data-head="${heads[at]}">${escaped(text)}</td>`,
  );
  return `<tr id="row${index}" class="${row.kind}">${shown.join('')}</tr>`;
}

function whoIn({ label, user, host, pid }: Row): string {
  return `${label}, ${user}@${host}, pid ${pid}`;
}

function renderLegend(rows: readonly Row[]): string {
  const present = new Set(rows.map(({ kind }) => kind));
  const words = { wait: 'waited', ...kinds, act: 'what operators did' };
  const items = Object.entries(words)
    .filter(([kind]) => kind === 'wait' || present.has(kind as Row['kind']))
    .map(([kind, text]) => `<li><i class="${kind}">${signs[kind] ?? ''}</i>${text}</li>`);
  return `<ul>${items.join('')}</ul>`;
}

/** A row as a bar of the timeline; what has not ended does so now. `index`: of its row. */
interface Bar extends Row {
  readonly index: number;
}

/** A lane for what operators did, then one for each host, or where `hasNames` for each lock. */
function renderTimeline(rows: readonly Row[], hasNames: boolean, nowMs: number): string {
  const bars = rows.map((row, index): Bar => {
    const endMs = Number.isFinite(row.endMs) ? row.endMs : Math.max(row.atMs, nowMs);
    return { ...row, index, endMs };
  });
  const fromMs = bars[0]?.atMs ?? nowMs;
  // Not Math.max(...bars): the number of arguments is limited.
  const spanMs = bars.reduce((longest, { endMs }) => Math.max(longest, endMs - fromMs), minSpanMs);
  const place = (fromAtMs: number, untilMs: number) =>
    `left:${percent((fromAtMs - fromMs) / spanMs)};width:${percent((untilMs - fromAtMs) / spanMs)}`;
  const ticks = ticksIn(fromMs, fromMs + spanMs).map((atMs) => {
    const [day, time] = momentOf(atMs).split(' ');
    return `<time style="left:${percent((atMs - fromMs) / spanMs)}">${time}<br/>${day}</time>`;
  });
  const lanes = new Map<string, Bar[]>();
  for (const bar of bars.filter(({ kind }) => kind !== 'act')) {
    const lane = hasNames ? bar.name : bar.host;
    lanes.set(lane, lanes.get(lane) ?? []);
    lanes.get(lane)?.push(bar);
  }
  const named = [...lanes].sort(([one], [other]) => (one < other ? -1 : 1));
  const operators = bars.filter(({ kind }) => kind === 'act');
  const all = operators.length === 0 ? named : [['operators', operators] as const, ...named];
  const sections = all.map(([lane, ofLane]) => renderLane(lane, ofLane, spanMs / 80, place));
  return `<div class="timeline"><div class="axis">${ticks.join('')}</div>
${sections.join('\n')}
</div>`;
}

const minSpanMs = 10_000;

/** Of round times, in ms. */
const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200]
  .concat([1, 2, 7, 14].map((days) => days * 86_400))
  .map((seconds) => seconds * 1_000);
const monthMs = 30 * 86_400_000;

/** At most ten round times of the local day. */
function ticksIn(fromMs: number, toMs: number): number[] {
  const minStepMs = (toMs - fromMs) / 9;
  const stepMs =
    steps.find((step) => step >= minStepMs) ?? Math.ceil(minStepMs / monthMs) * monthMs;
  const midnightMs = new Date(fromMs).setHours(0, 0, 0, 0);
  const firstMs = midnightMs + Math.ceil((fromMs - midnightMs) / stepMs) * stepMs;
  const count = Math.floor((toMs - firstMs) / stepMs) + 1;
  return Array.from({ length: count }, (_, at) => firstMs + at * stepMs);
}

/**
 * In as many lines as it takes for bars not to overlap: each is in the first that is free. A short
 * one takes `minMs`, the width of a sign on a wide screen.
 */
function renderLane(
  lane: string,
  bars: readonly Bar[],
  minMs: number,
  place: (fromMs: number, untilMs: number) => string,
): string {
  const ends: number[] = [];
  const links = bars.map((bar) => {
    const free = ends.findIndex((endMs) => endMs <= bar.atMs);
    const line = free < 0 ? ends.length : free;
    ends[line] = Math.max(bar.endMs, bar.atMs + minMs);
    return renderBar(bar, `top:${line * lineHeight}px;${place(bar.atMs, bar.endMs)}`);
  });
  const name = escaped(lane);
  return (
    `<section><h2 title="${name}">${name}</h2>` +
    `<div style="height:${ends.length * lineHeight}px">${links.join('')}</div></section>`
  );
}

/** In pixels. */
const lineHeight = 22;

/** What has no length, or did not run, is shown by a sign. */
const signs: Readonly<Record<string, string>> = { missed: '\u2715', vanished: '?', act: '\u25c6' };

/** The wait is hatched. */
function renderBar(bar: Bar, place: string): string {
  const { index, kind, atMs, endMs, waitedMs, label, end } = bar;
  const sign = kind === 'act' && endMs > atMs ? undefined : signs[kind];
  const word = kind === 'done' ? label : end[0];
  const share = percent(waitedMs / (endMs - atMs));
  const look = sign === undefined ? kind : `${kind} point`;
  return (
    `<a href="#row${index}" class="${look}" style="${place}" title="${escaped(detailOf(bar))}">` +
    (waitedMs > 0 ? `<i class="wait" style="width:${share}"></i>` : '') +
    `<span><b>${sign ?? escaped(word)}</b></span></a>`
  );
}

function detailOf(row: Row): string {
  const [waited, held] = row.spans;
  const spans = [waited && `, waited ${waited}`, held && `, held it ${held}`].join('');
  return `${row.name}: ${whoIn(row)}: began ${momentOf(row.atMs)}${spans}: ${sentenceOf(row.end)}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)}%`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

/** For text and for attributes in double quotes. */
function escaped(text: string): string {
  return oneLine(text).replace(/[&<>"]/g, (sign) => entities[sign] ?? '');
}
