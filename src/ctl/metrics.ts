// `redlockctl metrics [--textfile FILE]`: the locks under the prefix for Prometheus, their state
// now and what their histories say, to stdout, or in one step into a file for the textfile
// collector of the node exporter. It changes nothing on the masters. The format:
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

import { writeFile } from '../config/output-file.ts';
import { vanished } from '../lock/history.ts';
import { quorumOf } from '../lock/quorum.ts';
import type { Failed } from '../lock/types.ts';
import { isFailed } from '../redis/errors.ts';
import type { SeenHistory } from '../redis/snapshot.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine, printable } from '../text/foreign-text.ts';
import { failureLine } from '../text/lines.ts';
import type { Call } from './call.ts';
import { lastSuccessOf } from './history/check-past.ts';
import { readPast } from './history/history.ts';
import { endOf, type PastRun } from './history/run-history.ts';
import { kindOf } from './history/run-text.ts';
import type { LockState } from './lock-state.ts';
import { allLines, MasterQuery } from './master-query.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  /** With the unit at its end: `redlock_held_seconds`. */
  readonly name: string;
  readonly help: string;
  /** All are gauges: a history is bounded, so what is counted in it may become less. */
  readonly type: 'gauge';
  readonly samples: readonly Sample[];
}

/** The longest value of a label, in characters. */
const maxLabelChars = 1_024;

/** Ends with a newline; a metric without samples still has its HELP and TYPE. */
export function renderMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels, value }) => `${name}${renderLabels(labels)} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

function renderLabels(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Control characters become visible first, so that only these two have to be escaped. */
function escaped(value: string): string {
  return printable(value, maxLabelChars).replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n');
}

/** What is known of one lock; `runs`: of its history, by their end. */
interface KnownLock {
  readonly lock: LockState;
  readonly runs: readonly PastRun[];
  readonly histories: readonly SeenHistory[];
  /** The time of day, in ms since 1970. */
  readonly nowMs: number;
}

/** For each lock a number, or null: it has no sample. */
const perLock: readonly (readonly [
  name: string,
  help: string,
  read: (known: KnownLock) => number | null,
])[] = [
  [
    'redlock_held_seconds',
    'How long the lock has been held, by the longest of its present holders.',
    heldSeconds,
  ],
  ['redlock_waiters', 'How many runs wait for the lock.', ({ lock }) => lock.queue.length],
  [
    'redlock_frozen_seconds',
    'How long a person has let no new run start (redlockctl freeze).',
    ({ lock: { freeze, quorum }, nowMs }) =>
      freeze === null || freeze.votes < quorum ? null : secondsSince(freeze.since, nowMs),
  ],
  [
    'redlock_last_success_timestamp_seconds',
    'When a command last ended well under the lock, as far as the history goes back.',
    ({ runs }) => instantOf(runs.findLast((run) => kindOf(run) === 'done')),
  ],
  [
    'redlock_last_run_timestamp_seconds',
    'When a command last ended under the lock, well or not.',
    ({ runs }) => instantOf(runs.findLast(hasRun)),
  ],
  [
    'redlock_last_duration_seconds',
    'How long the last command under the lock held it.',
    ({ runs }) => {
      const heldMs = runs.findLast(hasRun)?.heldMs ?? null;
      return heldMs === null ? null : heldMs / 1000;
    },
  ],
  [
    'redlock_skips',
    'How many runs did not happen because the lock was held, since a command last ended well.',
    ({ histories }) => lastSuccessOf(histories).skipCount,
  ],
  [
    'redlock_losses',
    'How many runs in the history lost the lock while their command ran.',
    ({ runs }) => runs.filter((run) => kindOf(run) === 'lost').length,
  ],
];

function metricsOf(
  masters: readonly { readonly name: string; readonly failed: Failed | null }[],
  known: readonly KnownLock[],
): Metric[] {
  const gauge = (name: string, help: string, samples: readonly Sample[]): Metric => {
    return { name, help, type: 'gauge', samples };
  };
  const up = masters.map(({ name, failed }) => {
    return { labels: { master: name }, value: failed === null ? 1 : 0 };
  });
  return [
    gauge('redlock_master_up', 'Whether the master answers and may vote.', up),
    ...perLock.map(([name, help, read]) => {
      const samples = known.flatMap((one): Sample[] => {
        const value = read(one);
        return value === null ? [] : [{ labels: { lock: one.lock.name }, value }];
      });
      return gauge(name, help, samples);
    }),
    gauge('redlock_runs', 'How many runs in the history ended so.', known.flatMap(outcomesOf)),
  ];
}

function outcomesOf({ lock: { name: lock }, runs }: KnownLock): Sample[] {
  const counts = new Map<string, number>();
  for (const { outcome, endedAt, count } of runs)
    if (endedAt !== null || outcome === vanished)
      counts.set(outcome, (counts.get(outcome) ?? 0) + count);
  return [...counts].map(([outcome, value]) => ({ labels: { lock, outcome }, value }));
}

/** A holder whose run has ended, and whose lock is kept, does not count. */
function heldSeconds({ lock: { state, holders }, runs, nowMs }: KnownLock): number | null {
  if (state !== 'held') return null;
  const ended = new Set(runs.flatMap(({ token, endedAt }) => (endedAt === null ? [] : [token])));
  const present = holders.filter(({ token }) => !ended.has(token ?? ''));
  const seconds = present.flatMap(({ since }) => secondsSince(since, nowMs) ?? []);
  return seconds.length === 0 ? null : Math.max(...seconds);
}

function hasRun({ heldMs, endedAt }: PastRun): boolean {
  return heldMs !== null && endedAt !== null;
}

function instantOf(run: PastRun | undefined): number | null {
  return run === undefined ? null : endOf(run) / 1000;
}

/** null for what is no time. */
function secondsSince(since: string | null, nowMs: number): number | null {
  const sinceMs = Date.parse(since ?? '');
  return Number.isNaN(sinceMs) ? null : Math.max(0, nowMs - sinceMs) / 1000;
}

export async function metrics({ args, settings, clock, print, tell }: Call): Promise<number> {
  const query = await MasterQuery.of(settings, clock);
  const nowMs = Date.now();
  const written = await query.historyNames(0);
  const present = [...new Set([...written, ...(await query.names('*'))])];
  const past = await readPast(query, written, present, allLines, nowMs);
  const restarts = await query.ask(async (server) => {
    return (await server.restartFailure()) ?? { kind: 'up' };
  });
  const failures = query.failures();
  const masters = query.servers.map(({ name }, at) => {
    const restart = restarts[at];
    return { name, failed: failures[at] ?? (isFailed(restart) ? restart : null) };
  });
  for (const { name, failed } of masters)
    if (failed !== null) tell(`${name}: ${failureLine(failed)}`);
  const runsOf = new Map(past.locks.map(({ name }) => [name, [] as PastRun[]]));
  for (const run of [...past.runs].sort((a, b) => endOf(a) - endOf(b)))
    runsOf.get(run.name)?.push(run);
  const known = past.locks
    .filter(({ state }) => state !== 'unknown' && state !== 'misconfigured')
    .map((lock) => ({
      lock,
      runs: runsOf.get(lock.name) ?? [],
      histories: past.histories.get(lock.name) ?? [],
      nowMs,
    }));
  const found = metricsOf(masters, known);
  const file = args.textOf('--textfile');
  const problem = file === null ? null : writeFile('--textfile', file, renderMetrics(found));
  if (problem !== null) {
    tell(problem);
    return exitCode.output;
  }
  if (args.has('--json')) print(jsonLine({ metrics: found }));
  else if (file === null) print(renderMetrics(found));
  if (masters.some(({ failed }) => failed?.cause === 'misconfigured')) return exitCode.config;
  const upCount = masters.filter(({ failed }) => failed === null).length;
  return upCount < quorumOf(masters.length) ? exitCode.unreachable : exitCode.ok;
}
