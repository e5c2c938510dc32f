// The sentence for each end of a run, the ticks of the axis, and large histories.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renderHtmlPage } from '../../../src/ctl/history/page.ts';
import type { PastRun } from '../../../src/ctl/history/run-history.ts';
import { kindOf, reasonOf } from '../../../src/ctl/history/run-text.ts';
import { renderTimeline } from '../../../src/ctl/history/timeline.ts';
import { frames, hostRowsOf, scaleOf } from '../../../src/ctl/history/timeline-layout.ts';
import { outcomeTable } from '../../../src/text/outcomes.ts';
import { generous } from '../../servers/patience.ts';

const zone = process.env.TZ;
beforeEach(() => {
  process.env.TZ = 'Europe/Berlin';
});
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

const blocker = {
  kind: 'redlock-run',
  token: 't',
  host: 'web2',
  pid: 4711,
  user: 'ops',
  label: 'restore.sh',
  note: null,
  url: null,
  since: '2026-11-21T01:00:00.000Z',
};
const run: PastRun = {
  name: 'a',
  token: 't',
  host: 'web1',
  pid: 1,
  user: 'ops',
  label: 'backup',
  masters: 3,
  count: 1,
  firstAt: null,
  note: null,
  url: null,
  beganAt: '2026-11-21T01:00:00.000Z',
  acquiredAt: null,
  endedAt: '2026-11-21T01:00:00.000Z',
  waitMs: 0,
  heldMs: 1,
  outcome: 'ran',
  exitCode: 0,
  signal: null,
  status: 0,
  fence: null,
  blocker: null,
  stoppedBy: null,
  lossReason: null,
  unkillable: [],
};

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
  expect([kindOf(ended), reasonOf(ended)]).toEqual([kind, reason]);
});

it.each(Object.keys(outcomeTable).filter((word) => word !== 'busy'))(
  'a run that ended as %s and ran nothing: a sentence, and not that word',
  (outcome) => {
    const reason = reasonOf({ ...run, outcome, heldMs: null, exitCode: null, blocker: null });
    expect(reason).toMatch(/^did not run: .+ .+/);
    expect(reason).not.toBe(`did not run: ${outcome}`);
  },
);

const hundreds = { left: 100, right: 1_100, maxTicks: 12 };

describe('ticks', () => {
  it.each([
    ['2026-11-21T01:00:00Z', '2026-11-21T01:00:08Z', '02:00:00', 1_000],
    ['2026-11-21T00:58:00Z', '2026-11-21T01:20:00Z', '01:58', 120_000],
    ['2026-11-20T10:00:00Z', '2026-11-21T10:00:00Z', '12:00', 3 * 3_600_000],
    ['2026-10-24T10:00:00Z', '2026-10-26T10:00:00Z', '12:00', 6 * 3_600_000],
    ['2026-11-01T10:00:00Z', '2026-11-30T10:00:00Z', '2026-11-07', 7 * 86_400_000],
  ])('from %s to %s: the first at %s, every %i ms, few of them', (from, to, first, everyMs) => {
    const { ticks, x } = scaleOf(Date.parse(from), Date.parse(to), hundreds);
    expect(ticks[0]?.label).toBe(first);
    expect(ticks[0]?.day ?? first).toMatch(/^2026-/);
    expect((ticks[1]?.at ?? 0) - (ticks[0]?.at ?? 0)).toBe(everyMs);
    expect(ticks.length).toBeLessThanOrEqual(13);
    for (const { at } of ticks) expect(x(at)).toSatisfy((px) => px >= 100 && px <= 1_100);
  });
});

it.each(['wide', 'narrow'] as const)(
  'the times at the edges of a %s picture are whole',
  (frame) => {
    const at = ['2026-11-21T01:00:00Z', '2026-11-21T01:00:10Z'] as const;
    const runs = at.map((beganAt) => ({ ...run, beganAt, acquiredAt: beganAt, endedAt: beganAt }));
    const shown = {
      runs,
      acts: [],
      standing: new Set<string>(),
      name: 'a',
      nowMs: Date.parse(at[1]),
    };
    const picture = renderTimeline(shown, frames[frame]);
    const texts = [...picture.matchAll(/<text x="([\d.]+)" [^>]*tick">([^<]+)/g)];
    expect(texts.map(([, , text]) => text)).toEqual(
      expect.arrayContaining(['02:00:00', '02:00:10']),
    );
    for (const [, x, text = ''] of texts)
      expect(Math.min(Number(x), frames[frame].width - Number(x))).toBeGreaterThan(
        text.length * 3.5,
      );
  },
);

describe('20,000 runs', () => {
  const count = 20_000;
  const startMs = Date.parse('2026-11-01T00:00:00Z');
  const runs = Array.from({ length: count }, (_, index): PastRun => {
    const at = new Date(startMs + index * 10_000).toISOString();
    return { ...run, token: `t${index}`, beganAt: at, acquiredAt: at, endedAt: at };
  });
  const nowMs = startMs + count * 10_000;
  const countOf = (text: string) => text.split('<g class="run"').length - 1;

  it('are one picture and one page', { timeout: generous(120_000) }, () => {
    const shown = { runs, acts: [], standing: new Set<string>(), name: null, nowMs };
    expect(countOf(renderTimeline({ ...shown, name: 'a' }, frames.wide))).toBe(count);
    // The last hundred stand in the narrow picture too.
    expect(countOf(renderHtmlPage(shown, ''))).toBe(count + 100);
  });

  it('of as many hosts have a lane each, in linear time', {
    timeout: generous(30_000),
  }, () => {
    const hosts = runs.map((one, index) => ({ ...one, host: `web${index}` }));
    const scale = scaleOf(startMs, nowMs, hundreds);
    expect(hostRowsOf(hosts, scale, nowMs, true)).toHaveLength(count);
  });
});

it('an axis of many thousand years has few ticks', () => {
  expect(scaleOf(0, 8.64e15, hundreds).ticks.length).toBeLessThanOrEqual(13);
});
