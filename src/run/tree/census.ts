// What is known of the processes of a machine at one time, and who can tell it. Types alone: process-table.ts reads /proc, and
// foreign-table.ts asks where there is none. The surprise: an answer may say of itself that it is not the whole truth.

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Start time in units that only compare; with the pid it tells a process from a later one of the same number. */
  readonly startedAt: number;
  /** Those of the texts asked for that are in the environment it was started with, as far as we may look. */
  readonly found: readonly string[];
  /** It shows no environment at all. */
  readonly isBlank: boolean;
}

export interface Census {
  /** Everyone alive; zombies are not. */
  readonly entries: readonly ProcessEntry[];
  /** False: somebody on the list was gone, or showed no environment, however often we looked. */
  readonly isSettled: boolean;
}

/** As pids, both included. */
export interface Numbers {
  readonly first: number;
  readonly last: number;
}

export interface ProcessTable {
  /** Those who started at `since` or later, and which of these texts their environments hold; of all numbers, or of these. */
  read(since: number, texts: readonly string[], numbers?: Numbers): Census;
  /** Also of a zombie, whose number is still taken; null when nobody has this number. */
  startedAt(pid: number): number | null;
}
