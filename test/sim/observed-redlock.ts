// The real Redlock with a witness beside it, which is told of every lease that is acquired,
// confirmed, lost or released. It changes nothing. Belief is reported here and not by the run, so
// that it lasts as long as any part of the program may hold it.

import type { Clock, Master, Report } from '../../src/lock/ports.ts';
import type { RoundTimings } from '../../src/lock/timings.ts';
import type { Machine } from './machine.ts';
import type { System } from './system.ts';
import type { Witness } from './witness.ts';

export function observedRedlock(
  { Redlock }: System,
  witness: Witness,
  machine: Machine,
  masters: readonly Master[],
  clock: Clock,
  timings: RoundTimings,
  report: Report,
) {
  // No class of its own: one for each program would make all of src/lock/redlock.ts slow.
  const redlock = new Redlock(masters, clock, timings, report);
  const attempt = redlock.attempt.bind(redlock);
  const extend = redlock.extend.bind(redlock);
  const release = redlock.release.bind(redlock);

  redlock.attempt = async (...args) => {
    const attempted = await attempt(...args);
    if (attempted.kind === 'acquired') witness.acquired(machine, clock, attempted.lease);
    if (attempted.kind === 'busy' && !attempted.isHeld) machine.world.mark('split vote');
    return attempted;
  };

  redlock.extend = async (...args) => {
    const extension = await extend(...args);
    if (extension.kind === 'extended') witness.extended(extension.lease);
    const lastMomentMs = timings.reserveMs + timings.masterTimeoutMs;
    if (extension.kind === 'extended' && clock.now() > args[0].validUntil - lastMomentMs) {
      machine.world.mark('extension in the last moment');
    }
    // An extension by token is followed by a query: what it has reported counts until its validity
    // ends.
    const isTold = witness.tickets.has(args[0].claim.value);
    if (extension.kind === 'lost' && !isTold) witness.ended(args[0].claim.value, null);
    return extension;
  };

  redlock.release = (...args) => {
    if (witness.holdings.has(args[0].value)) witness.ended(args[0].value, args[1] ?? 0);
    else witness.ends.addPlace(args[0]);
    return release(...args);
  };

  return redlock;
}
