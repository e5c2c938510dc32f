// Which lines are printed: none when all is well, one when it matters, every event with -v, one for
// a wait.

import { describe, expect, test } from 'vitest';
import { Reporter } from '../../../src/cli/reporter.ts';
import type { Settings } from '../../../src/config/settings.ts';
import { type Cause, notStarted, type RunEvent, type RunRecord } from '../../../src/run/record.ts';

type Verbosity = Settings['verbosity'];

/** A reporter that writes into a list. */
function reporterFor(
  verbosity: Verbosity = 'normal',
  logFormat: 'text' | 'json' = 'text',
  terminal: object = {},
) {
  const lines: string[] = [];
  const reporter = new Reporter(
    {
      names: ['job'],
      command: ['cmd'],
      waitMs: null,
      retries: null,
      slotCount: 3,
      verbosity,
      logFormat,
      traceId: null,
    },
    { ...terminal, write: (text) => lines.push(text) },
    {},
  );
  return { reporter, lines };
}

const failed = { kind: 'failed', cause: 'connection', message: 'connection refused' } as const;
const failures = [{ master: 'redis://a', failed }];
const waiting = (waitedMs: number): RunEvent => ({
  kind: 'waiting',
  holder: 'x',
  holderCount: 1,
  remainingMs: 5,
  position: null,
  waitedMs,
});
const noQuorum = (waitedMs: number): RunEvent => ({ kind: 'no-quorum', failures, waitedMs });
const endedBy = (cause: Cause): RunRecord => ({
  ...notStarted,
  cause,
  childExit: { kind: 'exited', code: 0 },
  runMs: 5,
});

const uneventful: readonly RunEvent[] = [
  { kind: 'master-failing', master: 'redis://a', failed },
  { kind: 'master-recovered', master: 'redis://a' },
  { kind: 'master-repaired', master: 'redis://a' },
  { kind: 'acquired', grantedCount: 2, elapsedMs: 3, waitMs: 3 },
  { kind: 'fence-raised', fence: 3 },
  { kind: 'child-started', pid: 7 },
  { kind: 'extended', extendedCount: 3, elapsedMs: 3 },
  { kind: 'extension-failed', failures, validMs: 4_000 },
  { kind: 'master-jumped', master: 'redis://a', aheadMs: 60_000 },
  { kind: 'relayed', signal: 'SIGHUP' },
  { kind: 'child-exited', exit: { kind: 'exited', code: 0 }, runMs: 5 },
  { kind: 'released', releasedCount: 3, keepMs: 0 },
];

test('on a terminal without a width a wait is printed as without a terminal', () => {
  const { reporter, lines } = reporterFor('normal', 'text', { isTTY: true, columns: 0 });
  reporter.event(waiting(0));
  reporter.event(waiting(5_000));
  expect(lines).toEqual([
    expect.stringMatching(
      /^redlock-run: waiting 5s for "job": held by another program \(value x\)$/m,
    ),
  ]);
});

test('a run that goes well prints nothing, also when a minority of masters fails', () => {
  for (const verbosity of ['normal', 'quiet'] as const) {
    const { reporter, lines } = reporterFor(verbosity);
    for (const event of uneventful) reporter.event(event);
    reporter.finished(endedBy({ kind: 'child' }));
    expect(lines).toEqual([]);
  }
});

test('-v prints every event, each on a line of its own', () => {
  const { reporter, lines } = reporterFor('verbose');
  for (const event of uneventful) reporter.event(event);
  expect(lines).toHaveLength(uneventful.length);
  for (const line of lines) expect(line).toMatch(/^redlock-run: [^\n]+\n$/);
});

describe('a wait', () => {
  test.each<[Verbosity, RunEvent[], number]>([
    ['normal', [waiting(0)], 0],
    ['normal', [waiting(0), waiting(10), waiting(9_000)], 1],
    ['normal', [noQuorum(0), noQuorum(60), noQuorum(9_000)], 1],
    ['verbose', [waiting(0), waiting(10), waiting(9_000)], 1],
    ['quiet', [waiting(0), waiting(60_000), noQuorum(90_000)], 0],
  ])('%s: %o', (verbosity, events, count) => {
    const { reporter, lines } = reporterFor(verbosity);
    for (const event of events) reporter.event(event);
    expect(lines).toHaveLength(count);
  });

  test('for masters that have just restarted is printed early', () => {
    const { reporter, lines } = reporterFor();
    const young = { ...failed, cause: 'restarted', message: 'restarted 3 s ago' } as const;
    const event = {
      kind: 'no-quorum',
      failures: ['redis://a', 'redis://late'].map((master) => ({ master, failed: young })),
      waitedMs: 0,
    } as const;
    reporter.event(event);
    expect(lines).toEqual([]);
    reporter.event(event);
    reporter.event(event);
    expect(lines).toEqual([
      'redlock-run: waiting 0s for "job": no quorum: redis://a: restarted 3 s ago; ' +
        'redis://late: restarted 3 s ago\n',
    ]);
  });
});

test('a wait for another number of slots says so', () => {
  const { reporter, lines } = reporterFor();
  reporter.event({ ...waiting(0), holder: 'slots 2' } as RunEvent);
  reporter.event({ ...waiting(9_000), holder: 'slots 2' } as RunEvent);
  expect(lines).toEqual([
    'redlock-run: waiting 9s for "job": held on slots, 2 in all ' +
      '(with --slots 2, not 3: use one number for all runs)\n',
  ]);
});

describe('what is printed without -v', () => {
  const unreleased: RunEvent = { kind: 'release-unconfirmed', failures, remainingMs: 4_000 };
  test.each<[boolean, Verbosity, number]>([
    [false, 'normal', 1],
    [false, 'quiet', 0],
    [true, 'normal', 0],
    [true, 'verbose', 1],
  ])(
    'processes left behind, kept because it was wanted: %s, %s: %d line',
    (isKept, verbosity, count) => {
      const { reporter, lines } = reporterFor(verbosity);
      reporter.event({ kind: 'leftovers', count: 2, isKept });
      expect(lines).toHaveLength(count);
    },
  );

  test.each<[Verbosity, number]>([
    ['quiet', 0],
    ['normal', 1],
    ['verbose', 1],
  ])('a release that failed, %s: %d line', (verbosity, count) => {
    const { reporter, lines } = reporterFor(verbosity);
    reporter.event(unreleased);
    expect(lines).toHaveLength(count);
  });
});

describe('the end', () => {
  const busy: Cause = { kind: 'busy', holder: 'x', holderCount: 1, freeInMs: 1 };
  const unreachable: Cause = { kind: 'unreachable', failures, gaveUpAfterMs: null };
  const lost: Cause = { kind: 'lost', reason: 'expired' };
  test.each<[string, Cause, Verbosity, number]>([
    ['busy', busy, 'normal', 1],
    ['busy', busy, 'quiet', 0],
    ['superseded', { kind: 'superseded', by: 'w:1@h/u/c' }, 'normal', 1],
    ['superseded', { kind: 'superseded', by: 'w:1@h/u/c' }, 'quiet', 0],
    ['nested', { kind: 'nested', holder: 'x' }, 'normal', 1],
    ['nested', { kind: 'nested', holder: 'x' }, 'quiet', 0],
    ['no quorum', unreachable, 'quiet', 1],
    ['lost', lost, 'quiet', 1],
    ['told to', { kind: 'signal', signal: 'SIGTERM' }, 'normal', 0],
  ])('%s, %o, %s: %d line', (_title, cause, verbosity, count) => {
    const { reporter, lines } = reporterFor(verbosity);
    reporter.finished(endedBy(cause));
    expect(lines).toHaveLength(count);
  });
});

test('details are printed with -v, errors always', () => {
  for (const [verbosity, expected] of [
    ['quiet', ['redlock-run: error\n']],
    ['normal', ['redlock-run: error\n']],
    ['verbose', ['redlock-run: detail\n', 'redlock-run: error\n']],
  ] as const) {
    const { reporter, lines } = reporterFor(verbosity);
    reporter.detail('detail');
    reporter.error('error');
    expect(lines).toEqual(expected);
  }
});

test('as JSON, the same lines at the same moments, with the facts', () => {
  const { reporter, lines } = reporterFor('verbose', 'json');
  for (const event of uneventful) reporter.event(event);
  reporter.finished(endedBy({ kind: 'lost', reason: 'taken' }));
  const objects = lines.map((line) => JSON.parse(line));
  expect(objects.map(({ kind }) => kind)).toEqual([
    ...uneventful.map(({ kind }) => kind),
    'finished',
  ]);
  for (const { time, name, message } of objects) {
    expect([new Date(time).toISOString(), name, typeof message]).toEqual([time, 'job', 'string']);
  }
  expect(objects[3]).toMatchObject({ grantedCount: 2, elapsedMs: 3, waitMs: 3 });
  expect(objects.at(-1)).toMatchObject({
    cause: { kind: 'lost', reason: 'taken' },
    runMs: 5,
  });
});

describe('foreign text acts on no terminal', () => {
  const evil = '\u001b]0;PWNED\u0007\u009b31m\u007f\u202e\u2066\u200f\ufeff\u2028\n';
  const said = { kind: 'failed', cause: 'reply', message: evil } as const;
  const events: readonly RunEvent[] = [
    { kind: 'master-failing', master: 'redis://a', failed: said },
    { kind: 'no-quorum', failures: [{ master: 'redis://a', failed: said }], waitedMs: 9_000 },
    { kind: 'no-quorum', failures: [{ master: 'redis://a', failed: said }], waitedMs: 9_000 },
    { ...waiting(9_000), holder: evil } as RunEvent,
  ];

  test.each(['text', 'json'] as const)('as %s', (logFormat) => {
    const { reporter, lines } = reporterFor('verbose', logFormat);
    for (const event of events) reporter.event(event);
    reporter.detail(evil);
    reporter.error(evil);
    expect(lines).toHaveLength(4);
    for (const line of lines) expect(line).toMatch(/^[ -~]+\n$/);
    if (logFormat === 'json')
      expect(lines.map((line) => JSON.parse(line).message).at(-1)).toBe(evil);
  });
});
