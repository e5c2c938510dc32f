// A run of nothing, made by whoever waits for his turn: everything that happens between the lock and the start of the command, and
// between its end and the release, is done once on a master that is not there and with a command that cannot be started. It
// decides nothing and nobody is told of it. The surprise: code that runs for the first time takes five times as long, and the
// moment at which the lock is handed over is the one at which everybody waits for it.

import type { Claim, Clock, Master, Random } from '../lock/ports.ts';
import { Redlock } from '../lock/redlock.ts';
import type { Child } from './child.ts';
import { Run, type RunParts, type RunSettings } from './run.ts';

export interface RehearsalParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly newClaim: () => Claim;
  /** Must fail to start anything. */
  readonly startChild: RunParts['startChild'];
  readonly recordOf: RunParts['recordOf'];
}

/** Never rejects: what goes wrong here does so again when it matters, and is told then. */
export async function rehearse(
  settings: RunSettings & { readonly masterTimeoutMs: number },
  parts: RehearsalParts,
): Promise<void> {
  const { clock, newClaim } = parts;
  const redlock = new Redlock([pretender], clock, { ...settings, reserveMs: 0 }, () => {});
  const acquire: RunParts['acquire'] = async () => {
    const attempt = await redlock.attempt(newClaim());
    return attempt.kind === 'acquired' ? attempt : { kind: 'aborted' };
  };
  const run = new Run(settings, { ...parts, redlock, acquire, report: () => {}, guard: nobody, suspendUs: () => {} });
  await run.start().catch(() => {});
}

/** A master that grants everything at once and keeps nothing. */
const pretender: Master = {
  name: 'none',
  acquire: async () => ({ kind: 'granted', fence: 1 }),
  extend: async () => ({ kind: 'gone' }),
  heal: async () => ({ kind: 'taken' }),
  release: async () => ({ kind: 'released' }),
  giveBack: async () => ({ kind: 'released' }),
  listen: async () => ({ close: () => {} }),
};

const nobody: RunParts['guard'] = { arm: () => {}, watch: (_child: Child) => {}, done: () => {} };
