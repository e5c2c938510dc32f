// Deliberate mistakes in the scripts, which the simulated server makes (mutants.ts).

/** In the scripts of all forms of a lock. */
type CommonFlaw =
  | 'release-without-comparing'
  | 'extend-without-comparing'
  | 'extend-revives'
  | 'repair-overwrites'
  | 'acquire-overwrites-expiring'
  | 'fence-raised-without-owner-check'
  | 'fence-starts-at-zero'
  | 'fence-not-raised'
  | 'acquire-jumps-the-queue'
  | 'release-wakes-none'
  | 'release-wakes-all'
  | 'release-always-wakes'
  | 'release-wakes-itself'
  | 'refusal-always-wakes'
  | 'queue-keeps-the-silent';

/** In the script of promoted replicas. */
type PromotionFlaw = 'promotion-known-for-any-replica';

/** In the scripts of freezes. */
type FreezeFlaw = 'freeze-seen-as-free' | 'thaw-without-comparing' | 'freeze-forgotten';

/** In what the scripts note about refused runs. */
type SkipFlaw = 'skip-lengthens-the-lock' | 'skip-joins-the-queue';

/** In the scripts of some forms. */
type FormFlaw =
  | 'shared-beside-a-writer'
  | 'writer-beside-readers'
  | 'mode-not-renewed'
  | 'release-of-all-readers'
  | 'readers-pass-the-writer'
  | 'reader-wakes-no-reader'
  | 'sharer-woken-alone'
  | 'earlier-end-untold'
  | 'slots-counted'
  | 'slot-not-looked-at'
  | 'any-number-of-slots'
  | 'repair-beside-the-slot-of-another'
  | 'names-one-by-one'
  | 'names-first-only'
  | 'names-released-first-only'
  | 'fence-of-the-first-name'
  | 'superseded-keeps-its-position'
  | 'served-is-forgotten'
  | 'replaced-for-any-waiter';

/** In the scripts of the older protocol. */
type SetnxFlaw =
  | 'time-taken-over-too-soon'
  | 'time-without-the-second'
  | 'time-of-another-extended'
  | 'time-of-another-released'
  | 'owner-counts-for-any-time';

export type Flaw = CommonFlaw | PromotionFlaw | FormFlaw | FreezeFlaw | SetnxFlaw | SkipFlaw;
