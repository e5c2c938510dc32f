// One job from settings to exit status: connects its parts. What is decided about it is in
// src/run/.

import type { Reporter } from '../cli/reporter.ts';
import type { Settings } from '../config/settings.ts';
import type { Lease } from '../lock/types.ts';
import { slotOf } from '../lock/value.ts';
import { watchCaller } from '../run/caller-watch.ts';
import { holderName } from '../run/enclosing-lock.ts';
import { childEnvironment } from '../run/environment.ts';
import { checkIsolation, guardFile } from '../run/guard-program.ts';
import type { ExitStatus } from '../run/outcome.ts';
import type { RunHost } from '../run/ports.ts';
import { checkProcessTable, whyCannotStart } from '../run/preconditions.ts';
import { notStarted, type RunEvent, type RunRecord } from '../run/record.ts';
import { Run } from '../run/run.ts';
import { hasTerminal, subscribe } from '../run/terminal.ts';
import { createSystemClock, maxTimerMs, systemSources } from '../system/clock.ts';
import { cpuQuota } from '../system/cpu-quota.ts';
import { renderDuration } from '../text/time.ts';
import { lockOf } from './job-lock.ts';
import { JobReports } from './job-reports.ts';

/** With less of a processor than this, a short ttl leaves no time to end many processes. */
const minCores = 0.5;
const minTtlMs = 10_000;

/** `folder`: that of the program. */
export async function runJob(
  settings: Settings,
  reporter: Reporter,
  folder: string,
): Promise<ExitStatus> {
  const { ttlMs, isIsolated, command, masters } = settings;
  const reports = new JobReports(settings, reporter);
  const cores = cpuQuota()?.cores ?? Number.POSITIVE_INFINITY;
  if (cores < minCores && ttlMs < minTtlMs) {
    const why = `its control group has ${cores} processors, and ending processes takes time`;
    reporter.warn(`ttl: ${renderDuration(ttlMs)}: ${why} (use --ttl 10s or more)`);
  }
  const guard = guardFile(folder);
  // No master is started or asked for a command that cannot be guarded, isolated or executed.
  checkProcessTable();
  if (isIsolated) checkIsolation(guard);
  const childExit = whyCannotStart(command[0] ?? '', process.env.PATH);
  if (childExit === null) return play(settings, guard, reports);
  return reports.end({ ...notStarted, cause: { kind: 'child' }, childExit }, masters);
}

async function play(settings: Settings, guard: string, reports: JobReports): Promise<ExitStatus> {
  // Apart from what redlockctl loads: loading execa hides the caller's streams from all others.
  const { GuardedCommand } = await import('../run/guard-client.ts');
  const { hooks, seen } = reports;
  let child = null as InstanceType<typeof GuardedCommand> | null;
  let stopWatching = null as (() => void) | null;
  const tell = (event: RunEvent) => {
    if (event.kind === 'waiting')
      stopWatching ??= watchCaller(guard, () => run.post({ kind: 'caller-gone' }));
    reports.event(event);
  };
  const noteJump = (ms: number) => tell({ kind: 'clock-jumped', ms });
  const clock = createSystemClock(noteJump, systemSources, maxTimerMs.guarded);
  const lock = await lockOf(settings, clock, tell, seen);
  const { enclosing, foreground, isIsolated, jitterMs, slotCount } = settings;
  const isForeground = foreground ?? hasTerminal();
  const holder = enclosing?.holder ?? holderName();
  const environmentOf = (lease: Lease) =>
    childEnvironment(process.env, lease, slotOf(lease.claim, slotCount), holder, isIsolated);
  const acquire = async (aborted: AbortSignal) => {
    if (jitterMs > 0) await clock.sleep(Math.random() * jitterMs, aborted);
    const acquisition = await lock.acquire(aborted);
    if (acquisition.kind === 'acquired') hooks.acquired(environmentOf(acquisition.lease));
    return acquisition;
  };
  const startChild: RunHost['startChild'] = (lease, timeLeft, report) => {
    const [environment, needsCaller] = [environmentOf(lease), stopWatching !== null];
    const plan = { ...settings, file: guard, environment, isForeground, needsCaller };
    child = new GuardedCommand(plan, timeLeft, report);
    return child;
  };
  const host: RunHost = {
    clock,
    random: Math.random,
    report: lock.report,
    seen,
    startChild,
    onLost: (lease, record) => hooks.lost(environmentOf(lease), record),
    suspendUs: () => process.kill(process.pid, 'SIGSTOP'),
  };
  const run = new Run(settings, { ...lock, acquire }, host);
  const leaveProcess = connect(run, isForeground);
  let record: RunRecord;
  try {
    record = await run.start();
    await hooks.ended();
    // An enclosing run would take guards that are about to end for leftovers.
    if (record.unkillable.length === 0) await child?.gone;
  } finally {
    stopWatching?.();
    await lock.close();
    leaveProcess();
  }
  return reports.end(record, lock.servers);
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
