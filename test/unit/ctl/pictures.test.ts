// The pictures of `top` and of the page of history in docs/ are recorded from real runs, and only
// then. Here the same state is drawn anew: the words must be those of the picture, whatever the
// times, process ids and ports are. Else: `npm run pictures`.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderHtmlPage } from '../../../src/ctl/history/page.ts';
import type { PastHolder, PastRun } from '../../../src/ctl/history/run-history.ts';
import { historyRows } from '../../../src/ctl/history/run-text.ts';
import type { ShownFreeze } from '../../../src/ctl/holdings.ts';
import type { Holder, LockState } from '../../../src/ctl/lock-state.ts';
import { renderTop } from '../../../src/ctl/top.ts';
import { vanished } from '../../../src/lock/history.ts';
import { topSize } from '../../pictures/scenes.ts';
import { holder as aHolder, run as aRun, blocker } from './past-run.ts';

const picture = (name: string) =>
  readFileSync(join(import.meta.dirname, '../../../docs', name), 'utf8');

/** The texts that are there in full, also those that a pointer shows; each once. */
function words(svg: string): string[] {
  const found = svg.replace(/<style>.*?<\/style>/gs, '').matchAll(/ title="([^"]*)"|>([^<]+)</g);
  const texts = [...found].map(([, title, text = '']) => masked(title ?? text));
  return [...new Set(texts)].filter((text) => text !== '' && !/(…|\.\.\.)$/.test(text));
}

function masked(text: string): string {
  return text
    .replace(/(:\d\d), [\w/+-]+$/, '$1, ZONE')
    .replace(/\d{4}-\d\d-\d\d/g, 'DAY')
    .replace(/\d\d:\d\d:\d\d(\.\d+Z)?/g, 'TIME')
    .replace(/\b(\d+(\.\d+)? ?(ms|s|m))+\b/g, 'SPAN')
    .replace(/\b\d{4,}\b/g, 'N')
    .replace(/ +/g, ' ')
    .trim();
}

const at = (seconds: number) => new Date(2026, 10, 24, 17, 33, seconds).toISOString();

const holder: Holder = { ...aHolder, label: 'deploy.sh', since: at(0) };
const lock: LockState = {
  name: 'deploy',
  state: 'held',
  masters: 3,
  quorum: 2,
  sharing: 'exclusive',
  slots: null,
  holders: [holder],
  remainingMs: 20_000,
  fence: 1,
  votes: [],
  freeze: null,
  queue: [],
};
const waiter = { id: 'w', waitedMs: 18_300, pid: 1, host: '', user: '', label: '', note: null };
const backup = { ...holder, host: 'web2', label: 'backup.sh' };
const freeze: ShownFreeze = {
  token: 't',
  user: 'ops',
  host: 'ops',
  pid: 1,
  since: at(0),
  note: 'disks are moved',
  remainingMs: null,
  votes: 3,
};

it('top.svg', () => {
  const queue = [1, 2].map((position) => ({ ...waiter, position }));
  const slots = { sharing: 'slots', slots: 3, holders: [holder, holder] } as const;
  const frozen = { state: 'frozen', holders: [], remainingMs: null, freeze } as const;
  const masters = [1, 2, 3].map((last) => ({
    name: `redis://127.0.0.1:3697${last}`,
    answer: '19.9 ms',
    isFailed: false,
  }));
  const locks = [
    { ...lock, queue },
    { ...lock, name: 'db-migrate', ...frozen },
    { ...lock, name: 'import', ...slots },
    { ...lock, name: 'nightly', holders: [backup] },
  ];
  const { lines } = renderTop({ masters, locks }, 0, topSize);
  const [title, ...shown] = words(picture('top.svg'));
  expect(title).toBe('redlockctl top');
  expect(shown).toEqual([...new Set(lines.map(({ text }) => masked(text)).filter(Boolean))]);
});

const run: PastRun = {
  ...aRun,
  name: 'database',
  host: 'web3',
  acquiredAt: null,
  endedAt: null,
  waitMs: 50,
  heldMs: null,
  outcome: vanished,
};
const by: PastHolder = { ...blocker, host: 'web1', label: 'backup.sh' };
const ran: PastRun = { ...run, host: 'web1', outcome: 'ran' };
const waited: PastRun = { ...ran, host: 'web2', waitMs: 6_900, blocker: by };
const runs: PastRun[] = [
  { ...ran, beganAt: at(-1), acquiredAt: at(-1), endedAt: at(9), heldMs: 9_200 },
  { ...waited, beganAt: at(2), acquiredAt: at(9), endedAt: at(10), heldMs: 820 },
  { ...run, outcome: 'busy', beganAt: at(5), endedAt: at(5), blocker: by },
  { ...run, beganAt: at(15), acquiredAt: at(15) },
];

it.each(['timeline.svg', 'timeline-narrow.svg'])('%s', (file) => {
  const rows = historyRows(runs, [], []);
  const page = renderHtmlPage(rows, 'database', '4 runs, 1 did not happen', Date.parse(at(60)));
  const [, body = ''] = /<body>(.*)<\/body>/s.exec(page) ?? [];
  expect(words(picture(file))).toEqual(words(body));
});
