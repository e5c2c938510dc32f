// The mutants of the small worlds (explore/): those of the simulator that can show themselves in
// acquiring, extending and releasing, and mistakes that only the small worlds look for.

import { inSource, type Mutant, rarely } from '../mutant.ts';
import { buildMutants, loadMutant } from '../mutant-build.ts';
import { mutants } from '../mutants.ts';
import type { System } from '../system.ts';

const names: readonly string[] = [
  'quorum-one-lower',
  'validity-from-after-the-requests',
  'extension-from-after-the-requests',
  'no-release-on-silent-masters',
  'release-forgets-what-was-asked',
  'release-overtakes-the-acquire',
  'value-used-again',
  'no-write-back',
  'smallest-count',
  'no-restart-grace',
  'believes-appendfsync-always',
  'new-mark-counts',
  'release-without-comparing',
  'extend-without-comparing',
  'extend-revives',
  'repair-overwrites',
  'fence-raised-without-owner-check',
  'fence-not-raised',
];

/** The checks and the worlds of the simulator are not meant for these. */
const elsewhere = rarely(0, 'restarts-empty');

const ownMutants: readonly Mutant[] = [
  inSource(
    'repair-without-proof',
    'a missing key is repaired before a quorum has confirmed the lease',
    elsewhere,
    'lock/redlock.ts',
    'if (confirmed) this.#repair(master, confirmed, ended);',
    'if (confirmed !== undefined) this.#repair(master, confirmed ?? lease, ended);',
  ),
  inSource(
    'repair-after-the-release',
    'a late answer to an extension repairs a key that was released since',
    elsewhere,
    'lock/redlock.ts',
    "if (this.#standing.get(claim) !== 'ours' || this.#clock.now() >= validUntil) return;",
    'if (this.#clock.now() >= validUntil) return;',
  ),
  inSource(
    'repair-after-the-validity',
    'a late answer to an extension repairs a key whose lease has ended since',
    elsewhere,
    'lock/redlock.ts',
    "if (this.#standing.get(claim) !== 'ours' || this.#clock.now() >= validUntil) return;",
    "if (this.#standing.get(claim) !== 'ours' || validUntil < 0) return;",
  ),
];

export const smallMutants: readonly Mutant[] = [
  ...names.map((name) => {
    const mutant = mutants.find((one) => one.name === name);
    if (mutant === undefined) throw new Error(`no such mutant: ${name}`);
    return mutant;
  }),
  ...ownMutants,
];

/** Builds them, which are kept until the source changes; returns where. */
export function buildSmallMutants(): string {
  return buildMutants(smallMutants, 'smallmutants');
}

/** The code with this mistake. */
export function loadSmallMutant(mutant: Mutant): Promise<System> {
  return loadMutant(buildSmallMutants(), mutant);
}
