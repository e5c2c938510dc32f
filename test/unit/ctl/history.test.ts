// The sentence for each end of a run, the timeline of the page, and large histories.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renderHtmlPage } from '../../../src/ctl/history/page.ts';
import type { PastRun } from '../../../src/ctl/history/run-history.ts';
import { endingOf, historyRows, kindOf, sentenceOf } from '../../../src/ctl/history/run-text.ts';
import { outcomeTable } from '../../../src/text/outcomes.ts';
import { generous } from '../../servers/patience.ts';
import { run as aRun, blocker } from './past-run.ts';

const zone = process.env.TZ;
beforeEach(() => {
  process.env.TZ = 'Europe/Berlin';
});
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const ended = { beganAt: aRun.beganAt, endedAt: aRun.beganAt };
const run: PastRun = { ...aRun, ...ended, name: 'a' };

const held = 'held by ops@web2, pid 4711, restore.sh, since 2026-11-21 02:00:00';

it.each([
  [{}, 'done', 'done'],
  [{ exitCode: 3, status: 3 }, 'failed', 'exit code 3'],
  [{ exitCode: null, signal: 'SIGKILL', status: 137 }, 'failed', 'died of SIGKILL'],
  [{ outcome: 'max-run', status: 124 }, 'max-run', 'ran too long: stopped by --max-run'],
  [
    {
      outcome: 'max-run',
      status: 124,
      unkillable: [
        { pid: 12, user: 'root (uid 0)' },
        { pid: 13, user: 'root (uid 0)' },
        { pid: 14, user: null },
      ],
    },
    'max-run',
    'ran too long: stopped by --max-run; could not kill 12, 13 of root (uid 0), 14',
  ],
  [{ outcome: 'signal', status: 143 }, 'stopped', 'told to stop, status 143'],
  [{ outcome: 'lost', status: 79 }, 'lost', 'lost the lock'],
  [
    { outcome: 'lost', lossReason: 'unreachable' },
    'lost',
    'lost the lock: no quorum extended it in time',
  ],
  [
    { outcome: 'lost', lossReason: 'constructor' },
    'lost',
    'lost the lock: for a reason that this version does not know ("constructor")',
  ],
  [{ outcome: 'bug', exitCode: null, status: 70 }, 'failed', 'how it ended is not known'],
  [{ waitMs: 1_000, blocker }, 'done', `done: waited: ${held}`],
  [{ waitMs: 999, blocker }, 'done', 'done'],
  [
    { waitMs: 1_000, blocker, outcome: 'max-run', note: 'v 4' },
    'max-run',
    `ran too long: stopped by --max-run; waited: ${held} (this run: note "v 4")`,
  ],
  [{ outcome: 'signal', status: 130 }, 'stopped', 'told to stop, status 130'],
  [
    { outcome: 'unwanted', exitCode: null, status: 0 },
    'stopped',
    'released: the process that it was held for had ended',
  ],
  [{ outcome: 'running', endedAt: null }, 'running', 'held now'],
  [
    { outcome: 'busy', heldMs: null, blocker, note: 'v 4' },
    'missed',
    `did not run: ${held} (this run: note "v 4")`,
  ],
  [{ outcome: 'busy', heldMs: null, blocker }, 'missed', `did not run: ${held}`],
  [{ outcome: 'busy', heldMs: null }, 'missed', 'did not run: others were first'],
  [{ note: 'v 4', url: 'https://ci/7' }, 'done', 'done (note "v 4", https://ci/7)'],
  [
    { outcome: 'busy', heldMs: null, blocker: { ...blocker, kind: 'string', token: 'x' } },
    'missed',
    'did not run: held by another program (value x)',
  ],
  [{ outcome: 'signal', heldMs: null, blocker }, 'missed', `did not run: told to stop; ${held}`],
  [
    { outcome: 'no-quorum', heldMs: null, blocker },
    'missed',
    'did not run: no quorum of masters answered',
  ],
  [
    { outcome: 'from a later version', heldMs: null },
    'missed',
    'did not run: for a reason that this version does not know ("from a later version")',
  ],
] as const)('%j is %s: %s', (changes, kind, reason) => {
  const ended = { ...run, ...changes };
  expect([kindOf(ended), sentenceOf(endingOf(ended))]).toEqual([kind, reason]);
});

it.each(Object.keys(outcomeTable).filter((word) => word !== 'busy'))(
  'a run that ended as %s and ran nothing: a sentence, and not that word',
  (outcome) => {
    const missed = { ...run, outcome, heldMs: null, exitCode: null, blocker: null };
    const reason = sentenceOf(endingOf(missed));
    expect(reason).toMatch(/^did not run: .+ .+/);
    expect(reason).not.toBe(`did not run: ${outcome}`);
  },
);

const shownOf = (runs: readonly PastRun[], nowMs: number, name: string | null = 'a') =>
  renderHtmlPage(historyRows(runs, [], []), name, '', nowMs);

describe('ticks', () => {
  const ticksIn = (page: string) =>
    [...page.matchAll(/<time style="left:([\d.]+)%">([^<]*)<br\/>([^<]*)</g)].map(
      ([, share, time, day]) => ({ share: Number(share), time, day }),
    );
  const pageOf = (from: string, to: string) =>
    shownOf([{ ...run, beganAt: from, acquiredAt: from, endedAt: to }], 0);

  it.each([
    ['2026-11-21T01:00:00Z', '2026-11-21T01:00:08Z', '02:00:00', '2026-11-21'],
    ['2026-11-21T00:58:00Z', '2026-11-21T01:20:00Z', '02:00:00', '2026-11-21'],
    ['2026-11-20T10:00:00Z', '2026-11-21T10:00:00Z', '12:00:00', '2026-11-20'],
    ['2026-10-24T10:00:00Z', '2026-10-26T10:00:00Z', '12:00:00', '2026-10-24'],
    ['2026-11-01T10:00:00Z', '2026-11-30T10:00:00Z', '00:00:00', '2026-11-08'],
  ])('from %s to %s: the first at %s of %s, few of them', (from, to, time, day) => {
    const ticks = ticksIn(pageOf(from, to));
    expect(ticks[0]).toMatchObject({ time, day });
    expect(ticks.length).toBeGreaterThan(2);
    expect(ticks.length).toBeLessThanOrEqual(10);
    for (const { share } of ticks) expect(share).toSatisfy((at) => at >= 0 && at <= 100);
  });

  it('are few in many thousand years', () => {
    const page = pageOf(new Date(0).toISOString(), new Date(8.64e15).toISOString());
    expect(ticksIn(page).length).toBeLessThanOrEqual(10);
  });
});

it('bars that overlap have a line of a lane each', () => {
  const at = (minutes: number) => new Date(Date.UTC(2026, 10, 21, 1, minutes)).toISOString();
  const spans = [
    [0, 30],
    [10, 50],
    [30, 40],
    [50, 60],
  ] as const;
  const runs = spans.map(([from, to]) => ({ ...run, beganAt: at(from), endedAt: at(to) }));
  const places = [...shownOf(runs, 0).matchAll(/style="top:(\d+)px;left:([\d.]+)%/g)];
  expect(places.map(([, top, left]) => [top, left])).toEqual([
    ['0', '0.00'],
    ['22', '16.67'],
    ['0', '50.00'],
    ['0', '83.33'],
  ]);
});

it('short runs one after the other do not cover each other', () => {
  const at = (minutes: number) => new Date(Date.UTC(2026, 10, 21, 0, minutes)).toISOString();
  const runs = [0, 1, 20].map((minutes) => ({
    ...run,
    beganAt: at(minutes),
    endedAt: at(minutes),
  }));
  const tops = [
    ...shownOf([...runs, { ...run, beganAt: at(0), endedAt: at(1_000) }], 0).matchAll(
      /style="top:(\d+)px/g,
    ),
  ];
  expect(tops.map(([, top]) => Number(top)).toSorted((a, b) => a - b)).toEqual([0, 0, 22, 44]);
});

it('a run that has not ended ends now', () => {
  const page = shownOf([{ ...run, endedAt: null }], Date.parse(run.beganAt) + 60_000);
  expect(page).toContain('left:0.00%;width:100.00%');
});

describe('20,000 runs', () => {
  const count = 20_000;
  const startMs = Date.parse('2026-11-01T00:00:00Z');
  const runs = Array.from({ length: count }, (_, index): PastRun => {
    const at = new Date(startMs + index * 10_000).toISOString();
    return { ...run, token: `t${index}`, beganAt: at, acquiredAt: at, endedAt: at };
  });
  const countOf = (text: string, part: string) => text.split(part).length - 1;

  it('are one page', { timeout: generous(120_000) }, () => {
    expect(countOf(shownOf(runs, startMs), '<a href="#row')).toBe(count);
  });

  it('of as many locks have a lane each', { timeout: generous(30_000) }, () => {
    const locks = runs.map((one, index) => ({ ...one, name: `lock-${index}` }));
    expect(countOf(shownOf(locks, startMs, null), '<section>')).toBe(count);
  });
});
