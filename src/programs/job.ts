// One job from settings to exit status: connects its parts. What is decided about it is in
// src/run/.

import type { Reporter } from '../cli/reporter.ts';
import type { Settings } from '../config/settings.ts';
import { guardSlackMsOf } from '../lock/timings.ts';
import type { Lease } from '../lock/types.ts';
import { slotOf } from '../lock/value.ts';
import { watchCaller } from '../run/caller-watch.ts';
import { holderName } from '../run/enclosing-lock.ts';
import { childEnvironment } from '../run/environment.ts';
import type { GuardedCommand } from '../run/guard-client.ts';
import { checkIsolation, guardFile } from '../run/guard-program.ts';
import type { GuardPlan } from '../run/guard-start.ts';
import type { ExitStatus } from '../run/outcome.ts';
import { timeLeftOf } from '../run/ports.ts';
import { checkProcessTable, whyCannotStart } from '../run/preconditions.ts';
import { notStarted, type RunEvent } from '../run/record.ts';
import { Run } from '../run/run.ts';
import { hasTerminal, subscribe } from '../run/terminal.ts';
import { cpuQuota } from '../system/cpu-quota.ts';
import { processUserOf } from '../system/process-table.ts';
import { renderDuration } from '../text/time.ts';
import { type JobMasters, lockOf, mastersOf } from './job-parts.ts';
import { type JobEnd, JobReports } from './job-reports.ts';

/** With less of a processor than this, a short ttl leaves no time to end many processes. */
const minCores = 0.5;
const minTtlMs = 10_000;

/** `folder`: that of the program. */
export async function runJob(
  settings: Settings,
  reporter: Reporter,
  folder: string,
): Promise<ExitStatus> {
  const reports = new JobReports(settings, reporter);
  const cores = cpuQuota()?.cores ?? Number.POSITIVE_INFINITY;
  if (cores < minCores && settings.ttlMs < minTtlMs) {
    const why = `its control group has ${cores} processors, and ending processes takes time`;
    reporter.warn(`ttl: ${renderDuration(settings.ttlMs)}: ${why} (use --ttl 10s or more)`);
  }
  return reports.end(await endOf(settings, guardFile(folder), reports));
}

/** No master is started or asked for a command that cannot be guarded, isolated or executed. */
async function endOf(settings: Settings, guard: string, reports: JobReports): Promise<JobEnd> {
  checkProcessTable();
  if (settings.isIsolated) checkIsolation(guard);
  const cannotStart = whyCannotStart(settings.command[0] ?? '', process.env.PATH);
  if (cannotStart === null) return play(settings, guard, await mastersOf(settings), reports);
  const record = { ...notStarted, cause: { kind: 'child' }, childExit: cannotStart } as const;
  return { record, servers: settings.masters };
}

async function play(
  settings: Settings,
  guard: string,
  masters: JobMasters,
  { event: tell, seen, hooks }: JobReports,
): Promise<JobEnd> {
  // Apart from what redlockctl loads: loading execa hides the caller's streams from all others.
  const client = await import('../run/guard-client.ts');
  let guarded = null as GuardedCommand | null;
  let stopWatching: (() => void) | null = null;
  const watchingTell = (event: RunEvent) => {
    if (event.kind === 'waiting')
      stopWatching ??= watchCaller(guard, () => run.post({ kind: 'caller-gone' }));
    tell(event);
  };
  const lock = lockOf(settings, masters, watchingTell, seen);
  const { clock, report, servers } = lock;
  const isForeground = settings.foreground ?? hasTerminal();
  const { enclosing, isIsolated, slotCount } = settings;
  const holder = enclosing?.holder ?? holderName();
  const environmentOf = (lease: Lease) =>
    childEnvironment(process.env, lease, slotOf(lease.claim, slotCount), holder, isIsolated);
  const run: Run = new Run(settings, {
    clock,
    random: Math.random,
    report,
    redlock: lock.held,
    listen: lock.listen,
    lineOf: lock.lineOf,
    seen,
    acquire: async (aborted) => {
      const { jitterMs } = settings;
      if (jitterMs > 0) await clock.sleep(Math.random() * jitterMs, aborted);
      const acquisition = await lock.acquire(aborted);
      if (acquisition.kind === 'acquired') hooks.acquired(environmentOf(acquisition.lease));
      return acquisition;
    },
    startChild: (lease) => {
      const start = { file: guard, environment: environmentOf(lease), isForeground };
      const plan = planOf(settings, { ...start, needsCaller: stopWatching !== null });
      guarded = new client.GuardedCommand(plan, timeLeftOf(lease, settings, clock), {
        onStopping: (isStarved) => run.stoppedByGuard(isStarved),
        onLost: () => {
          report({ kind: 'guard-lost' });
          run.post({ kind: 'lost', reason: 'guard-lost' });
        },
      });
      return guarded;
    },
    areMastersReplaced: () => masters.whyMastersReplaced() !== null,
    onLost: (lease, record) => hooks.lost(environmentOf(lease), record),
    userOf: processUserOf,
    suspendUs: () => process.kill(process.pid, 'SIGSTOP'),
  });
  const leaveProcess = connect(run, isForeground);
  try {
    const record = await run.start();
    await hooks.ended();
    // An enclosing run would take guards that are about to end for leftovers.
    if (record.unkillable.length === 0) await guarded?.gone;
    return { record, servers };
  } finally {
    (stopWatching as (() => void) | null)?.();
    await lock.close();
    leaveProcess();
  }
}

function planOf(
  { command, isIsolated, stopSignal, graceMs, marginMs }: Settings,
  start: Pick<GuardPlan, 'file' | 'environment' | 'isForeground' | 'needsCaller'>,
): GuardPlan {
  const slackMs = guardSlackMsOf(marginMs);
  return { ...start, command, isIsolated, stopSignal, graceMs, slackMs, quota: cpuQuota() };
}

/** Signals and bugs of this process reach the run. Returns the function that ends this. */
function connect(run: Run, isForeground: boolean): () => void {
  const unsubscribe = subscribe(isForeground, (...signal) => run.signal(...signal));
  // Bun, in the executable, does not turn a rejection into an exception.
  const bugs = ['uncaughtException', 'unhandledRejection'] as const;
  for (const bug of bugs) process.on(bug, run.crash);
  return () => {
    for (const bug of bugs) process.off(bug, run.crash);
    unsubscribe();
  };
}
