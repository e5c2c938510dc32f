// Mutants of shared locks, slots, several names, and preemption. A mistake that shows in no fair
// world is not here: a holder that outlives a key deleted by hand is caught by the contract suite
// alone.

import { inScript, inSource, type Mutant, rarely, within } from './mutant.ts';

export const jointMutants: readonly Mutant[] = [
  inScript(
    'shared-beside-a-writer',
    'a lock is shared while one holds it alone',
    rarely(10, 'readers-and-writers', 'ownership', 'exclusion'),
  ),
  inScript(
    'writer-beside-readers',
    'a lock is granted to one alone while others share it',
    rarely(20, 'several-names', 'ownership', 'exclusion'),
  ),
  inScript(
    'mode-not-renewed',
    'an extension by a holder that shares does not lengthen the key',
    rarely(10, 'readers-and-writers', 'honesty'),
  ),
  inScript(
    'release-of-all-readers',
    'a release by a holder that shares removes the key of all',
    rarely(10, 'readers-and-writers', 'ownership', 'honesty'),
  ),
  inScript(
    'readers-pass-the-writer',
    'a reader passes a waiting writer',
    rarely(10, 'readers-and-writers', 'order', 'served'),
  ),
  inScript(
    'reader-wakes-no-reader',
    'a reader does not wake the next reader',
    rarely(60, 'readers-and-writers', 'handOver'),
  ),
  inScript(
    'sharer-woken-alone',
    'one reader is woken alone, and may have to wait for another name',
    rarely(60, 'all-forms', 'handOver'),
  ),
  inScript(
    'earlier-end-untold',
    'the last reader of a chain of wake-ups leaves without one',
    rarely(20, 'readers-and-writers', 'handOver'),
  ),
  inScript(
    'slots-counted',
    'a master grants as long as it sees fewer holders than slots',
    within(20, 'slots', 'exclusion', 'ownership'),
  ),
  inScript(
    'slot-not-looked-at',
    'a slot is granted twice',
    within(10, 'slots', 'ownership', 'exclusion'),
  ),
  inScript(
    'any-number-of-slots',
    'a client with another number of slots is granted the lock',
    rarely(60, 'slots', 'exclusion', 'ownership', 'honesty'),
  ),
  inScript(
    'repair-beside-the-slot-of-another',
    'a repair puts its holder on the slot of another',
    rarely(60, 'slots', 'ownership'),
  ),
  inScript(
    'names-first-only',
    'the first name is granted although the second is refused',
    rarely(10, 'several-names', 'honesty', 'exclusion'),
  ),
  inScript(
    'names-one-by-one',
    'the names that are free are held while another is refused',
    within(20, 'several-names', 'litter', 'liveness'),
  ),
  inScript(
    'names-released-first-only',
    'only the first name is released',
    within(10, 'several-names', 'litter'),
  ),
  inScript(
    'fence-of-the-first-name',
    'only the first name counts',
    rarely(20, 'several-names', 'fence'),
  ),
  inScript(
    'superseded-keeps-its-position',
    'a newer preemptible waiter waits behind the older ones',
    within(40, 'newest-wins', 'newest'),
  ),
  inScript(
    'served-is-forgotten',
    'a waiter superseded by one that is served at once is not told',
    rarely(80, 'newest-wins', 'newest'),
  ),
  inScript(
    'replaced-for-any-waiter',
    'a holder is stopped for any waiter',
    rarely(30, 'newest-wins', 'replaced'),
  ),
  inSource(
    'replaced-on-one-word',
    'a holder gives way on the reply of one master',
    rarely(80, 'newest-wins', 'replaced'),
    'lock/quorum.ts',
    'countOfWish(wish) >= quorumOf(masterCount)',
    'countOfWish(wish) >= Math.min(1, quorumOf(masterCount))',
  ),
  inSource(
    'never-replaced',
    'a holder never gives way',
    rarely(40, 'newest-wins', 'replacement'),
    'lock/lease-keeper.ts',
    'onReplaced(extension.replacedBy);',
    'void onReplaced;',
  ),
  inSource(
    'replaced-with-the-next-extension',
    'a preemptible holder has no subscription',
    rarely(20, 'newest-wins', 'replacement'),
    'lock/lease-keeper.ts',
    "claim.preemptible === 'replace' ? await redlock.subscribe(asHolder(claim)) : null",
    'claim.ttlMs < 0 ? await redlock.subscribe(asHolder(claim)) : null',
  ),
];
