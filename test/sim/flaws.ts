// Deliberate mistakes in the scripts, which the simulated server makes in their place: see mutants.ts.

/** In what all forms of a lock have. */
type CommonFlaw =
  | 'release-without-comparing'
  | 'extend-without-comparing'
  | 'extend-revives'
  | 'heal-overwrites'
  | 'acquire-overwrites-expiring'
  | 'fence-raised-without-owner-check'
  | 'fence-starts-at-zero'
  | 'fence-not-raised'
  | 'acquire-jumps-the-queue'
  | 'release-calls-nobody'
  | 'release-calls-everybody'
  | 'release-always-calls'
  | 'release-calls-oneself'
  | 'refusal-always-calls'
  | 'queue-keeps-the-deaf';

/** In what only some forms have. */
type FormFlaw =
  | 'shared-beside-a-writer'
  | 'writer-beside-readers'
  | 'mark-not-renewed'
  | 'release-of-all-readers'
  | 'readers-pass-the-writer'
  | 'reader-calls-no-reader'
  | 'sharer-called-alone'
  | 'earlier-end-untold'
  | 'slots-counted'
  | 'slot-not-looked-at'
  | 'any-number-of-slots'
  | 'heal-beside-the-slot-of-another'
  | 'names-one-by-one'
  | 'names-first-only'
  | 'names-released-first-only'
  | 'fence-of-the-first-name'
  | 'superseded-keeps-his-place'
  | 'served-is-forgotten'
  | 'replaced-for-anybody';

/** In those of the older protocol. */
type SetnxFlaw =
  | 'time-taken-over-too-soon'
  | 'time-without-the-second'
  | 'time-extended-for-anybody'
  | 'time-released-for-anybody'
  | 'note-counts-for-any-time';

export type Flaw = CommonFlaw | FormFlaw | SetnxFlaw;
