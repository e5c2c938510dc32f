// How a run gets its lock: after its jitter, it waits until it has the lock; and what its attempts
// leave in the history. The simulator runs this too.

import { acquire, type IdentifiedServer } from '../lock/acquire.ts';
import type { Clock, Random } from '../lock/ports.ts';
import type { Claim } from '../lock/types.ts';
import {
  type Acquisition,
  type NotAcquired,
  type Retries,
  type WaitLimits,
  type WaitParts,
  waitForLock,
} from '../lock/wait.ts';
import { heldAroundOf } from '../text/held-locks.ts';
import type { HistoryLines } from './history-lines.ts';
import { RunError } from './preconditions.ts';
import type { Cause, ReportRun } from './record.ts';

export interface AcquisitionSettings {
  /** How long before the end of validity the command has to begin to stop. */
  readonly reserveMs: number;
  readonly jitterMs: number;
  /** null: for ever. */
  readonly waitMs: number | null;
}

/** Waits once, for so many ms at most; null: for ever. */
export type RunWait = (waitMs: number | null, aborted: AbortSignal) => Promise<Acquisition>;

export interface AcquisitionParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly report: ReportRun;
  readonly servers: readonly IdentifiedServer[];
  readonly wait: RunWait;
  readonly release: (claim: Claim) => Promise<unknown>;
  /** Why later runs would not find these masters but others; null: they would. */
  readonly whyMastersReplaced: () => string | null;
}

/**
 * Resolves with the lock, when work may start under it, or with why it was not acquired.
 * @throws RunError where a lock that was acquired cannot be used here
 */
export async function acquireForRun(
  settings: AcquisitionSettings,
  parts: AcquisitionParts,
  aborted: AbortSignal,
): Promise<Acquisition> {
  const { jitterMs, waitMs, reserveMs } = settings;
  const { clock, random, report, servers, release, whyMastersReplaced } = parts;
  if (jitterMs > 0) await clock.sleep(random() * jitterMs, aborted);
  const acquisition = await acquire(
    {
      clock,
      report,
      servers,
      release,
      wait: (leftMs) => parts.wait(leftMs, aborted),
      ready: async () => {
        const mastersReplaced = whyMastersReplaced();
        return mastersReplaced && `${mastersReplaced} (try again)`;
      },
    },
    { waitMs, aborted, reserveMs, isIdentifying: true },
  );
  if (acquisition.kind === 'not-ready') throw new RunError(acquisition.why);
  return acquisition;
}

export interface RunWaitSettings extends Pick<WaitLimits, 'giveUpAfterMs' | 'maxWaiters'> {
  readonly names: readonly string[];
  readonly retries: Retries | null;
  readonly hasHistory: boolean;
}

export interface RunWaitParts extends Omit<WaitParts, 'lineOf' | 'isHeldAround'> {
  readonly historyLines: Pick<HistoryLines, 'startOf' | 'skipOf' | 'ofWait'>;
  /** In the history, in place of a token, of a run that is refused. */
  readonly runId: string;
  /** Of this process, which names the locks of the runs around it. */
  readonly environment: NodeJS.ProcessEnv;
  /** Whether redlockctl hold holds it for a script that this process is part of. */
  readonly isOwnHold: Parameters<typeof heldAroundOf>[2];
}

/** Waits for a lock of its own, with claims that leave their lines in the history. */
export function waitForRun(
  settings: RunWaitSettings,
  parts: RunWaitParts,
  waitMs: number | null,
  aborted: AbortSignal,
): Promise<Acquisition> {
  const { names, retries, giveUpAfterMs, maxWaiters, hasHistory } = settings;
  const { historyLines, runId, environment, isOwnHold } = parts;
  const isSkipping = waitMs === 0 || retries !== null;
  const withLines = {
    ...parts,
    newClaim: () => {
      const claim = parts.newClaim();
      const start = historyLines.startOf(claim);
      return isSkipping
        ? { ...claim, start, skip: historyLines.skipOf(runId) }
        : { ...claim, start };
    },
    lineOf: (claim: Claim, refusal: NotAcquired) =>
      historyLines.ofWait(claim, (aborted.reason as Cause | undefined) ?? refusal),
  };
  const waitParts = hasHistory ? withLines : { ...parts, lineOf: () => null };
  const isHeldAround = heldAroundOf(environment, names, isOwnHold);
  const limits = { waitMs, retries, giveUpAfterMs, maxWaiters, aborted };
  return waitForLock({ ...waitParts, isHeldAround }, limits);
}
