// The errors of the library, with what they say. The surprise: the lines are those of the programs, `what: which: why (what to do)`, so
// one in a log can be looked up in the same place, and nothing in them has a password or a line break.

import type { NotAcquired } from '../lock/wait.ts';
import { failuresLine, holderLine, roughly, supersededLine, whichOf } from '../text/lines.ts';
import { type LostReason, RedlockError } from './error.ts';

export function usageError(message: string): RedlockError {
  return new RedlockError('usage', message);
}

export function notAcquiredError(
  resources: readonly string[],
  acquisition: NotAcquired,
  cause: unknown,
): RedlockError {
  const which = whichOf(resources);
  switch (acquisition.kind) {
    case 'busy': {
      const { holder, freeInMs, holderCount } = acquisition;
      return new RedlockError(
        'busy',
        `busy: ${which}: ${holderLine(holder, freeInMs, holderCount)} (raise waitMs)`,
        {
          holder,
          freeInMs,
        },
      );
    }
    case 'unreachable': {
      const { failures } = acquisition;
      const message = `no quorum: ${which}: ${failuresLine(failures)} (check that a majority of the masters is up)`;
      return new RedlockError('unreachable', message, { failures });
    }
    case 'too-slow': {
      const tookMs = roughly(acquisition.elapsedMs);
      const message = `no quorum: ${which}: the masters took ${tookMs}, too long for this ttl (raise ttlMs)`;
      return new RedlockError('too-slow', message);
    }
    case 'misconfigured': {
      const { failures } = acquisition;
      return new RedlockError('misconfigured', `masters: ${failuresLine(failures)}`, { failures });
    }
    case 'superseded':
      return new RedlockError('superseded', supersededLine(which, acquisition.by));
    case 'aborted':
      return abortedError(resources, 'told to stop waiting', cause);
    default:
      return new RedlockError('busy', `busy: ${which}: ${acquisition.kind}`);
  }
}

export function abortedError(
  resources: readonly string[],
  why: string,
  cause?: unknown,
): RedlockError {
  return new RedlockError('aborted', `aborted: ${whichOf(resources)}: ${why}`, { cause });
}

const lossLine: Readonly<Record<LostReason, string>> = {
  taken: 'taken: masters show the value of another client',
  expired: 'expired: too few masters still show our value, or nobody has extended it in time',
  unreachable: 'unreachable: no quorum extended it in time',
  suspended:
    'suspended: this process did not run when the lock had to be extended (stopped, asleep, busy)',
  released: 'released: it was given back before',
  closed: 'closed: the Redlock that acquired it was closed',
};

export function lostError(
  resources: readonly string[],
  reason: LostReason,
  cause?: unknown,
): RedlockError {
  return new RedlockError('lost', `lost: ${whichOf(resources)}: ${lossLine[reason]}`, {
    reason,
    cause,
  });
}
