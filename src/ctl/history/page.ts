// The page of --html: the timeline above a table of the same runs and of what operators did, the
// newest first. Pure. It loads nothing and runs no script, and its Content-Security-Policy forbids
// it.

import { momentOf } from '../../text/time.ts';
import { startOf } from './run-history.ts';
import { historyRows, type Row, sentenceOf } from './run-text.ts';
import { escaped, renderTimeline, type Shown } from './timeline.ts';
import { frames } from './timeline-layout.ts';

const style = `
:root{color-scheme:light dark;--text:#1f2328;--back:#ffffff;--rule:#d1d9e0;--bad:#cf222e}
@media(prefers-color-scheme:dark){:root{--text:#e6edf3;--back:#0d1117;--rule:#3d444d;--bad:#ff6a69}}
body{margin:0 auto;max-width:1200px;padding:16px 0;background:var(--back);color:var(--text);
font:14px/1.5 system-ui,"Segoe UI","Liberation Sans",Arial,sans-serif}
h1{font-size:20px;margin:0 16px}
p{margin:4px 16px 8px}
.wide{overflow-x:auto}
svg.timeline{display:block;width:100%;height:auto}
.wide svg{min-width:1000px}
.narrow{display:none}
.narrow svg{max-width:560px}
table{border-collapse:collapse;width:calc(100% - 32px);margin:16px;font-size:13px}
th,td{text-align:left;vertical-align:top;padding:4px 12px 4px 0;
border-top:1px solid var(--rule);overflow-wrap:break-word}
th,td.when,td.span{white-space:nowrap;font-variant-numeric:tabular-nums}
tr[data-kind=missed] td:last-child,
tr[data-kind=lost] td:last-child{color:var(--bad);font-weight:600}
@media(max-width:700px){
.wide{display:none}
.narrow{display:block}
thead{display:none}
tr{display:flex;flex-wrap:wrap;gap:0 12px;padding:8px 0;border-top:1px solid var(--rule)}
td{border:0;padding:0;min-width:0;overflow-wrap:anywhere}
td:empty{display:none}
td:nth-child(3),td:last-child{flex-basis:100%}
td.span::before{content:attr(data-head) " ";opacity:.7}
}
`;

const heads = ['Began', 'Lock', 'Who', 'Waited', 'Held', 'What became of it'];

/** On a narrow screen, more would be a smear. */
const maxNarrow = 100;

/** `summary`: one sentence about what is shown. */
export function renderHtmlPage(shown: Shown, summary: string): string {
  const { runs, acts, name } = shown;
  const title = name === null ? 'History of all locks' : `History of ${name}`;
  const last = runs.slice(-maxNarrow);
  const since = last[0] && runs.length > maxNarrow ? startOf(last[0]) : 0;
  const lastActs = acts.filter(({ at }) => Date.parse(at) >= since);
  const rows = historyRows(runs, acts).reverse();
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
<div class="wide">
${renderTimeline(shown, frames.wide)}</div>
<div class="narrow">
${renderTimeline({ ...shown, runs: last, acts: lastActs }, frames.narrow)}</div>
<table>
<thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead>
<tbody>
${rows.map(rowText).join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

function rowText({ atMs, name, label, user, host, pid, spans, end, kind }: Row): string {
  const cells = [
    ['when', momentOf(atMs)],
    ['', name],
    ['', `${label}, ${user}@${host}, pid ${pid}`],
    ['span', spans[0]],
    ['span', spans[1]],
    ['', sentenceOf(end)],
  ];
  const row = cells.map(
    ([look = '', text = ''], at) =>
      `<td class="${look}" data-head="${heads[at]}">${escaped(text)}</td>`,
  );
  return `<tr data-kind="${kind}">${row.join('')}</tr>`;
}
