// One job from settings to exit status: builds the masters, the lock, the guard and the run, and
// passes the events to the reporter.

import { randomBytes } from 'node:crypto';
import { onlookersOf } from '../cli/onlookers.ts';
import type { Reporter } from '../cli/reporter.ts';
import type { Settings } from '../config/settings.ts';
import { acquire } from '../lock/acquire.ts';
import { HolderChannel, type Listen } from '../lock/holder-channel.ts';
import { Redlock } from '../lock/redlock.ts';
import type { Claim, Lease } from '../lock/types.ts';
import { slotOf } from '../lock/value.ts';
import { type Acquisition, type NotAcquired, waitForLock } from '../lock/wait.ts';
import type { MasterAddress } from '../redis/address.ts';
import type { EnclosingLock } from '../redis/enclosing-lock.ts';
import { ServerRegistry } from '../redis/identity.ts';
import type { MastersWatch } from '../redis/masters-watch.ts';
import type { RedisMaster } from '../redis/redis-master.ts';
import { childEnvironment } from '../run/environment.ts';
import { GuardClient } from '../run/guard/client.ts';
import type { GuardSupply } from '../run/guard/guard-process.ts';
import type { StartPlan } from '../run/guard/protocol.ts';
import { findIsolation, type Isolation } from '../run/isolation.ts';
import { type Attempts, waitUnlessNested } from '../run/nested-wait.ts';
import { runOnLost } from '../run/on-lost.ts';
import { type ExitStatus, exitStatusOf } from '../run/outcome.ts';
import { type Finished, type RunEvent, type RunParts, timeLeftOf } from '../run/ports.ts';
import { endedBefore, objectionTo, RunError } from '../run/preconditions.ts';
import { libcForTree } from '../run/processes/kept-tree.ts';
import { type Libc, loadBootClock } from '../run/processes/libc.ts';
import { Recorder } from '../run/recorder.ts';
import { Run } from '../run/run.ts';
import { meaningOf } from '../run/signals.ts';
import type { RunLossReason, StopReason } from '../run/supervisor.ts';
import { hasTerminal, isInFront, subscribe } from '../run/terminal.ts';
import { createSystemClock, readingsNow, systemSources } from '../system/clock.ts';
import {
  claimFor,
  enclosingLockOf,
  holderRecordOf,
  type JobMasters,
  mastersOf,
  odditiesOf,
  type Seen,
  waiterIdFor,
  watchedMasters,
  writeReportOf,
} from './job-parts.ts';
import { OwnHold } from './own-hold.ts';

export async function runJob(
  settings: Settings,
  reporter: Reporter,
  guards: GuardSupply,
): Promise<ExitStatus> {
  const failing = new Set<string>();
  let position: number | null = null;
  const self = holderRecordOf(settings);
  const onlookers = onlookersOf(settings, self, (line) => reporter.detail(line));
  onlookers.push(new OwnHold(settings.names, self.host, (line) => reporter.warn(line)));
  const tell = (event: RunEvent) => {
    if (event.kind === 'master-failing') failing.add(event.master);
    if (event.kind === 'master-recovered') failing.delete(event.master);
    if (event.kind === 'waiting' && event.position !== null) position ??= event.position + 1;
    for (const onlooker of onlookers) onlooker.see(event);
    reporter.event(event);
  };
  const { finished, ...known } = await outcomeOf(settings, guards, tell);
  reporter.finished(finished);
  for (const onlooker of onlookers) onlooker.finished(finished);
  const status = exitStatusOf(finished.result, settings.conflictExitCode);
  const problem = await writeReportOf(settings, finished, { ...known, position, failing }, status);
  if (problem !== null) reporter.error(problem);
  return status;
}

/** No master is started or asked for a command that cannot be executed. */
async function outcomeOf(
  settings: Settings,
  guards: GuardSupply,
  tell: (event: RunEvent) => void,
): Promise<{ readonly finished: Finished } & Pick<Seen, 'slot' | 'servers'>> {
  const means = meansFor(settings);
  const objection = objectionTo(settings.command[0] ?? '', process.env.PATH);
  if (objection) {
    return { finished: endedBefore(objection), slot: null, servers: settings.masters };
  }
  const { addresses, replaced } = await mastersOf(settings);
  const job = new Job(settings, addresses, replaced, guards, means, tell);
  return { finished: await job.run(), slot: job.slot, servers: job.servers };
}

/** What this machine has for a command, found out before any master is started or asked. */
interface Means {
  readonly libc: Libc;
  readonly isolation: Isolation | null;
}

/** @throws RunError, ConfigError where a command cannot be guarded, or not isolated */
function meansFor({ isIsolated }: Settings): Means {
  return { isolation: isIsolated ? findIsolation() : null, libc: libcForTree() };
}

class Job {
  readonly #settings: Settings;
  readonly #replaced: JobMasters['replaced'];
  readonly #guards: GuardSupply;
  readonly #means: Means;
  readonly #tell: (event: RunEvent) => void;
  readonly #clock;
  readonly #watch: MastersWatch;
  readonly #masters: readonly RedisMaster[];
  readonly #redlock: Redlock;
  /** The lock of an enclosing run, which is used instead of a new one; null: none. */
  readonly #enclosing: EnclosingLock | null;
  readonly #isForeground: boolean;
  readonly #runId = randomBytes(12).toString('hex');
  readonly #recorder: Recorder;
  /** Of the lock that has been acquired for good. */
  #lease: Lease | null = null;
  #onLost: Promise<void> | null = null;

  constructor(
    settings: Settings,
    addresses: readonly MasterAddress[],
    replaced: JobMasters['replaced'],
    guards: GuardSupply,
    means: Means,
    tell: (event: RunEvent) => void,
  ) {
    const registry = new ServerRegistry();
    this.#settings = settings;
    this.#replaced = replaced;
    this.#guards = guards;
    this.#means = means;
    this.#tell = (event) => {
      this.#recorder.see(event);
      tell(event);
    };
    this.#isForeground = settings.foreground ?? hasTerminal();
    const sources = { ...systemSources, ...loadBootClock() };
    this.#clock = createSystemClock((ms) => tell({ kind: 'clock-jumped', ms }), sources);
    const at = [addresses, registry, this.#clock] as const;
    ({ watch: this.#watch, masters: this.#masters } = watchedMasters(settings, ...at));
    this.#redlock = new Redlock(this.#masters, this.#clock, settings, this.#tell);
    this.#enclosing = enclosingLockOf(settings, ...at, this.#tell);
    this.#recorder = new Recorder(holderRecordOf(settings), settings.conflictExitCode, this.#clock);
  }

  /** The slot that the command has; null: none, or it was never started. */
  get slot(): number | null {
    return this.#lease && slotOf(this.#lease.claim, this.#settings.slotCount);
  }

  /** Of the lock that counts. */
  get servers(): EnclosingLock['observers'] | readonly RedisMaster[] {
    return this.#enclosing?.observers ?? this.#masters;
  }

  async run(): Promise<Finished> {
    const settings = this.#settings;
    const guard = this.#startGuard((reason) => run.post({ kind: 'lost', reason }));
    const listen: Listen = (...asked) => new HolderChannel(this.#masters, ...asked);
    const run: Run = new Run(settings, {
      redlock: this.#enclosing ?? this.#redlock,
      clock: this.#clock,
      random: Math.random,
      report: (event) => this.#report(event),
      guard: {
        setDeadlines: (timeLeft) => guard.setDeadlines(timeLeft),
        done: () => void guard.done(),
      },
      acquire: (aborted) => this.#acquire(aborted, guard),
      startChild: (lease) => guard.start(this.#startPlan(lease)),
      areMastersReplaced: () => this.#replaced() !== null,
      onLost: (lease, reason) => {
        this.#onLost = this.#runOnLost(lease, reason);
      },
      suspendUs: () => process.kill(process.pid, 'SIGSTOP'),
      recordOf: this.#recordOf,
      // An enclosing run is asked itself, and ends this one.
      listen: this.#enclosing ? null : listen,
    });
    const unsubscribe = subscribe(this.#isForeground, (signal) =>
      run.signal(signal, this.#isFromTerminal(signal)),
    );
    process.on('uncaughtException', run.crash);
    // Bun, in the executable, does not turn a rejection into an exception.
    process.on('unhandledRejection', run.crash);
    try {
      const finished = await run.start();
      await this.#onLost;
      return finished;
    } finally {
      await guard.done();
      process.off('uncaughtException', run.crash);
      process.off('unhandledRejection', run.crash);
      unsubscribe();
      for (const master of this.#masters) master.close();
      this.#enclosing?.close();
    }
  }

  #startGuard(lose: (reason: 'suspended' | 'guard-lost') => void): GuardClient {
    const { stopSignal, graceMs, marginMs } = this.#settings;
    return new GuardClient({
      supply: this.#guards,
      config: { stopSignal, graceMs, slackMs: marginMs / 4 },
      marginMs,
      libc: this.#means.libc,
      clock: this.#clock,
      readingsNow,
      onRestart: (how) => this.#tell({ kind: 'guard-restarted', how }),
      onStopping: () => lose('suspended'),
      onLost: (how) => {
        this.#tell({ kind: 'guard-lost', how });
        lose('guard-lost');
      },
    });
  }

  #startPlan(lease: Lease): StartPlan {
    const { isolation } = this.#means;
    return {
      command: [...(isolation ?? []), ...this.#settings.command],
      environment: childEnvironment(process.env, lease, this.slot),
      isForeground: this.#isForeground,
      hasNamespace: isolation !== null,
    };
  }

  readonly #recordOf: RunParts['recordOf'] = (...facts) =>
    this.#settings.hasHistory ? this.#recorder.ofRun(...facts) : null;

  #report(event: RunEvent): void {
    this.#tell(event);
    this.#watch.see(event, this.#tell);
    if (event.kind === 'acquired') odditiesOf(this.#masters).forEach(this.#tell);
  }

  async #runOnLost(lease: Lease, reason: RunLossReason): Promise<void> {
    const { onLost } = this.#settings;
    if (onLost === null) return;
    const environment = childEnvironment(process.env, lease, this.slot);
    await runOnLost(onLost, { ...environment, REDLOCK_LOST: reason });
  }

  /** Whether the command has received it itself. */
  #isFromTerminal(signal: NodeJS.Signals): boolean {
    return this.#isForeground && meaningOf(signal).isFromTerminal && isInFront();
  }

  async #acquire(aborted: AbortSignal, guard: GuardClient): Promise<Acquisition> {
    const { jitterMs, waitMs, reserveMs } = this.#settings;
    await this.#clock.sleep(Math.random() * jitterMs, aborted);
    const lock = this.#enclosing ?? this.#redlock;
    const parts = {
      clock: this.#clock,
      report: (event: RunEvent) => this.#report(event),
      servers: this.#enclosing ? [] : this.#watch.serversOf(this.#masters),
      wait: (leftMs: number | null) => this.#wait(leftMs, aborted),
      release: (claim: Claim) => lock.release(claim, 0, null),
      ready: (lease: Lease) => this.#ready(lease, guard),
    };
    const acquisition = await acquire(parts, { waitMs, aborted, reserveMs, isIdentifying: true });
    if (acquisition.kind === 'not-ready') throw new RunError(acquisition.why);
    if (acquisition.kind === 'acquired') this.#lease = acquisition.lease;
    return acquisition;
  }

  /** Resolves with null when a guard has confirmed the deadlines of this lease, or with why not. */
  async #ready(lease: Lease, guard: GuardClient): Promise<string | null> {
    const why = await guard.confirm(timeLeftOf(lease, this.#settings, this.#clock));
    if (why !== null) return `guard: no process to guard the command: ${why} (try again)`;
    const replaced = this.#replaced();
    return replaced && `${replaced} (try again)`;
  }

  /** With its start for the history, and, if it does not wait, with what a refusal leaves there. */
  #claim(leftMs: number | null): Claim {
    const { hasHistory, retries } = this.#settings;
    const claim = claimFor(this.#settings);
    const skip = leftMs === 0 || retries ? { skip: this.#recorder.skipOf(this.#runId) } : {};
    return hasHistory ? { ...claim, start: this.#recorder.startOf(claim), ...skip } : claim;
  }

  async #wait(leftMs: number | null, aborted: AbortSignal): Promise<Acquisition> {
    const { giveUpAfterMs, retries, hasHistory, names, maxWaiters } = this.#settings;
    if (this.#enclosing) return this.#enclosing.acquire({ waitMs: leftMs, giveUpAfterMs, aborted });
    const parts = {
      redlock: this.#redlock,
      clock: this.#clock,
      random: Math.random,
      report: (event: RunEvent) => this.#report(event),
      newClaim: () => this.#claim(leftMs),
      waiterId: waiterIdFor(this.#settings, this.#runId),
      recordOf: (claim: Claim, acquisition: NotAcquired) =>
        hasHistory
          ? this.#recorder.ofWait(claim, acquisition, aborted.reason as StopReason | undefined)
          : null,
    };
    const shared = { giveUpAfterMs, maxWaiters, aborted };
    const wait = (limits: Attempts) => waitForLock(parts, { ...shared, ...limits });
    return waitUnlessNested(process.env, names, wait, { waitMs: leftMs, retries });
  }
}
