// One job from settings to exit status: connects its parts. What is decided about it stands in
// src/run/.

import type { Reporter } from '../cli/reporter.ts';
import type { Settings } from '../config/settings.ts';
import { guardSlackMsOf } from '../lock/timings.ts';
import type { Lease } from '../lock/types.ts';
import { slotOf } from '../lock/value.ts';
import { type AcquisitionParts, acquireForRun } from '../run/acquisition.ts';
import { childEnvironment } from '../run/environment.ts';
import { GuardClient } from '../run/guard/client.ts';
import type { GuardSupply } from '../run/guard/guard-process.ts';
import { findIsolation, type Isolation } from '../run/isolation.ts';
import type { ExitStatus } from '../run/outcome.ts';
import { endedBefore, whyCannotStart } from '../run/preconditions.ts';
import { libcForTree } from '../run/processes/kept-tree.ts';
import type { Libc } from '../run/processes/libc.ts';
import { Run } from '../run/run.ts';
import { hasTerminal, subscribe } from '../run/terminal.ts';
import { readingsNow } from '../system/clock.ts';
import { processUserOf } from '../system/process-user.ts';
import { type JobLock, type JobMasters, lockOf, mastersOf } from './job-parts.ts';
import { type JobEnd, JobTelling } from './job-telling.ts';

export async function runJob(
  settings: Settings,
  reporter: Reporter,
  guards: GuardSupply,
): Promise<ExitStatus> {
  const telling = new JobTelling(settings, reporter);
  return telling.end(await endOf(settings, guards, telling));
}

/** No master is started or asked for a command that cannot be guarded, isolated or executed. */
async function endOf(
  settings: Settings,
  guards: GuardSupply,
  telling: JobTelling,
): Promise<JobEnd> {
  const isolation = settings.isIsolated ? findIsolation() : null;
  const machine = { guards, isolation, libc: libcForTree() };
  const cannotStart = whyCannotStart(settings.command[0] ?? '', process.env.PATH);
  if (cannotStart === null) return play(settings, machine, await mastersOf(settings), telling);
  return { finished: endedBefore(cannotStart), slot: null, servers: settings.masters };
}

/** What this machine has for a command. */
interface JobMachine {
  readonly guards: GuardSupply;
  readonly isolation: Isolation | null;
  readonly libc: Libc;
}

async function play(
  settings: Settings,
  machine: JobMachine,
  { addresses, whyMastersReplaced }: JobMasters,
  { event: tell, hooks }: JobTelling,
): Promise<JobEnd> {
  const lock = lockOf(settings, addresses, tell);
  const { clock, report, servers } = lock;
  const { isolation } = machine;
  const isForeground = settings.foreground ?? hasTerminal();
  let slot: number | null = null;
  const environmentOf = (lease: Lease) =>
    childEnvironment(process.env, lease, slotOf(lease.claim, settings.slotCount));
  const guard = guardFor(settings, machine, lock, () => run);
  const parts = { clock, random: Math.random, report };
  const acquiring: AcquisitionParts = {
    ...parts,
    servers: lock.toIdentify,
    wait: lock.wait,
    release: (claim) => lock.held.release(claim, 0, null),
    confirm: (timeLeft) => guard.confirm(timeLeft),
    whyMastersReplaced,
  };
  const run: Run = new Run(settings, {
    ...parts,
    redlock: lock.held,
    listen: lock.listen,
    lineOf: lock.lineOf,
    guard: { setDeadlines: (left) => guard.setDeadlines(left), done: () => void guard.done() },
    acquire: async (aborted) => {
      const acquisition = await acquireForRun(settings, acquiring, aborted);
      if (acquisition.kind === 'acquired') hooks.acquired(environmentOf(acquisition.lease));
      return acquisition;
    },
    startChild: (lease) => {
      slot = slotOf(lease.claim, settings.slotCount);
      const command = [...(isolation ?? []), ...settings.command];
      const hasNamespace = isolation !== null;
      return guard.start({
        command,
        environment: environmentOf(lease),
        isForeground,
        hasNamespace,
      });
    },
    areMastersReplaced: () => whyMastersReplaced() !== null,
    onLost: (lease, finished) => hooks.lost(environmentOf(lease), finished),
    userOf: processUserOf,
    suspendUs: () => process.kill(process.pid, 'SIGSTOP'),
  });
  const leaveProcess = connect(run, isForeground);
  try {
    const finished = await run.start();
    await hooks.ended();
    return { finished, slot, servers };
  } finally {
    await guard.done();
    await lock.close();
    leaveProcess();
  }
}

function guardFor(
  { stopSignal, graceMs, marginMs }: Settings,
  { guards, libc }: JobMachine,
  { clock, report }: JobLock,
  run: () => Run,
): GuardClient {
  return new GuardClient({
    supply: guards,
    config: { stopSignal, graceMs, slackMs: guardSlackMsOf(marginMs) },
    marginMs,
    libc,
    clock,
    readingsNow,
    onRestart: (how) => report({ kind: 'guard-restarted', how }),
    onStopping: () => run().stoppedByGuard(),
    onLost: (how) => {
      report({ kind: 'guard-lost', how });
      run().post({ kind: 'lost', reason: 'guard-lost' });
    },
  });
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
