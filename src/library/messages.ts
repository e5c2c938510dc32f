// Makes the errors of the library. Their messages are those of the programs, `what: which: why
// (what to do)`, without passwords and line breaks, so that the same documentation explains both.

import type { NotAcquired } from '../lock/wait.ts';
import { failuresLine, holderLine, roughly, supersededLine, whichOf } from '../text/lines.ts';
import { type LeaseLossReason, RedlockError } from './error.ts';

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
      const message = `no quorum: ${which}: ${failuresLine(failures)}`;
      return new RedlockError('unreachable', message, { failures });
    }
    case 'too-slow': {
      const why = `the masters took ${roughly(acquisition.elapsedMs)}, too long for this ttl`;
      return new RedlockError('too-slow', `no quorum: ${which}: ${why} (raise ttlMs)`);
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

const lossLine: Readonly<Record<LeaseLossReason, string>> = {
  taken: 'taken: masters show the value of another client',
  expired: 'expired: too few masters still show our value, or it was not extended in time',
  unreachable: 'unreachable: no quorum extended it in time',
  suspended:
    'suspended: this process did not run when the lock had to be extended (stopped, asleep, busy)',
  released: 'released: this lease was released before',
  closed: 'closed: the Redlock that acquired it was closed',
};

export function lostError(
  resources: readonly string[],
  reason: LeaseLossReason,
  cause?: unknown,
): RedlockError {
  return new RedlockError('lost', `lost: ${whichOf(resources)}: ${lossLine[reason]}`, {
    reason,
    cause,
  });
}
