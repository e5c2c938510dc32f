// Deliberate mistakes in locks that several hold, on slots, under several names, and in those who give way. The surprise: one that cannot
// be seen in a fair world is not here: holders who outlive a key that a person deleted are caught by the contract suite alone.

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
    'mark-not-renewed',
    'an extension by one who shares does not lengthen the key',
    within(10, 'readers-and-writers', 'honesty'),
  ),
  inScript(
    'release-of-all-readers',
    'a release by one who shares removes the key of all',
    rarely(10, 'readers-and-writers', 'ownership', 'honesty'),
  ),
  inScript(
    'readers-pass-the-writer',
    'who shares passes one who waits to have it alone',
    rarely(10, 'readers-and-writers', 'order', 'served'),
  ),
  inScript(
    'reader-calls-no-reader',
    'who shares calls nobody who would',
    rarely(20, 'readers-and-writers', 'handOver'),
  ),
  inScript(
    'sharer-called-alone',
    'who shares is called alone, and may have to wait for another name',
    rarely(60, 'all-forms', 'handOver'),
  ),
  inScript(
    'earlier-end-untold',
    'the last who shares and calls leaves without a call',
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
    'who counts other slots is let in',
    rarely(60, 'slots', 'exclusion', 'ownership', 'honesty'),
  ),
  inScript(
    'heal-beside-the-slot-of-another',
    'a heal puts its holder on the slot of another',
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
    within(20, 'several-names', 'fence'),
  ),
  inScript(
    'superseded-keeps-his-place',
    'a newer one who yields waits behind the older ones',
    within(40, 'newest-wins', 'newest'),
  ),
  inScript(
    'served-is-forgotten',
    'who was superseded by one that is served at once never hears of it',
    rarely(80, 'newest-wins', 'newest'),
  ),
  inScript(
    'replaced-for-anybody',
    'a holder is stopped for whoever waits',
    rarely(30, 'newest-wins', 'replaced'),
  ),
  inSource(
    'replaced-on-one-word',
    'a holder gives way on the word of one master',
    rarely(80, 'newest-wins', 'replaced'),
    'lock/quorum.ts',
    'countOfWish(wish) >= quorumOf(masterCount)',
    'countOfWish(wish) >= Math.min(1, quorumOf(masterCount))',
  ),
  inSource(
    'replaced-by-nobody',
    'a holder goes on, whoever wants the lock',
    rarely(40, 'newest-wins', 'replacement'),
    'lock/lease-keeper.ts',
    'onWanted?.(extension.wantedBy);',
    'void onWanted;',
  ),
  inSource(
    'replaced-with-the-next-extension',
    'a holder who would give it up listens for nobody',
    rarely(20, 'newest-wins', 'replacement'),
    'lock/lease-keeper.ts',
    "claim.yields === 'lock' ? await redlock.subscribe(asHolder(claim)) : null",
    'claim.ttlMs < 0 ? await redlock.subscribe(asHolder(claim)) : null',
  ),
];
