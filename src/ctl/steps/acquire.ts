// `redlockctl acquire NAME`: takes a lock for whoever goes on without us, and prints its token: the first of several steps. Nobody
// extends it and nobody guards what is done under it. The surprise: the lock outlives this program on purpose, so the ttl has to
// last for the work, or until the next `extend`.

import { randomBytes } from 'node:crypto';
import { holderLine } from '../../cli/lines.ts';
import { quoted } from '../../cli/trouble.ts';
import { type Acquisition, acquire } from '../../lock/acquire.ts';
import { renderValue } from '../../lock/holder.ts';
import { alone } from '../../lock/ports.ts';
import type { Call } from '../call.ts';
import { exitCode } from '../exit-code.ts';
import { openRedlock } from './claimant.ts';

/** As redlock-run's `giveUpAfter`. */
const giveUpAfterMs = 10_000;

export async function acquireLock({ words, settings, clock, note, print, tell, interrupted }: Call): Promise<number> {
  const name = words.operands[0] ?? '';
  const { ttlMs, waitMs } = settings;
  const { redlock, close } = await openRedlock(settings, clock);
  const signal = interrupted();
  const token = () => randomBytes(20).toString('base64url');
  const value = () => renderValue(token(), note());
  const newClaim = () => ({ ...alone, resources: [name], value: value(), ttlMs, isFenced: true, waiter: null });
  const parts = { redlock, clock, random: Math.random, report: () => {}, newClaim, waiterId: token() };
  const acquisition = await acquire(parts, { waitMs, giveUpAfterMs, aborted: signal });
  close();
  if (acquisition.kind !== 'acquired') return failed(name, acquisition, tell);
  const { claim, fence, validUntil } = acquisition.lease;
  const [mine] = claim.value.split(' ', 1);
  const validMs = Math.floor(validUntil - clock.now());
  if (words.has('--json')) print(`${JSON.stringify({ name, token: mine, fence, ttlMs, validMs })}\n`);
  else print(`${mine}\n`);
  return exitCode.ok;
}

function failed(
  name: string,
  acquisition: Exclude<Acquisition, { kind: 'acquired' }>,
  tell: (line: string) => void,
): number {
  switch (acquisition.kind) {
    case 'busy':
      tell(`busy: ${quoted(name)}: ${holderLine(acquisition.holder, acquisition.freeInMs)} (wait with -w)`);
      return exitCode.busy;
    case 'aborted':
      return exitCode.busy;
    case 'misconfigured':
    case 'unreachable': {
      const why = acquisition.failures.map(({ master, failed: { message } }) => `${master}: ${message}`).join('; ');
      tell(`no quorum: ${quoted(name)}: ${why}`);
      return acquisition.kind === 'unreachable' ? exitCode.unreachable : exitCode.config;
    }
    default:
      tell(`no quorum: ${quoted(name)}: granted too late to be of use`);
      return exitCode.unreachable;
  }
}
