// Where the faults of a cell happen: its masters, its runs, and the log of what was done.

import { appendFileSync } from 'node:fs';
import type { Random } from '../sim/random.ts';
import type { CellMaster } from './cell-master.ts';
import type { Contender } from './contender.ts';
import type { Finding } from './judge.ts';
import type { Means } from './means.ts';
import { now, type Witness } from './witness.ts';

/** A lock that no run may begin under: see scenes/verbs.ts. */
export interface Frozen {
  readonly lock: string;
  readonly from: number;
  readonly to: number;
}

export interface Stage {
  readonly random: Random;
  readonly ttlMs: number;
  readonly log: string;
  readonly masters: readonly CellMaster[];
  /** Those that have not ended. */
  readonly contenders: ReadonlySet<Contender>;
  readonly witness: Witness;
  /** Whether more than a minority of the masters may be out of order at a time. */
  readonly isMajorityAllowed: boolean;
  readonly means: Means;
  readonly locks: readonly string[];
  /** The words of redlockctl, and its environment. */
  readonly ctl: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  /** The people that use redlockctl now. */
  peopleCount: number;
  readonly frozen: Frozen[];
  /** The locks that a person is freezing or thawing: another one would thaw them too early. */
  readonly freezing: Set<string>;
  readonly accuse: (finding: Finding) => void;
}

export interface Done {
  readonly at: number;
  readonly kind: string;
  /** A run, a master, or the machine. */
  readonly target: string;
}

/** Writes into the log of the cell what is done now, and to which run or master. */
export function began(stage: Stage, kind: string, target: string): Done {
  const done = { at: now(), kind, target };
  appendFileSync(stage.log, `${done.at.toFixed(6)} fault ${kind} ${target}\n`);
  return done;
}

/**
 * A master to which nothing is being done, of one of these kinds; null: none may be had. A fault
 * that is over at once leaves the others as they are.
 */
export function freeMaster(
  stage: Stage,
  kinds: readonly string[],
  isBrief: boolean,
): CellMaster | null {
  const { masters, random, isMajorityAllowed } = stage;
  const takenCount = masters.filter(({ isTaken }) => isTaken).length;
  const isEnough = takenCount >= Math.floor((masters.length - 1) / 2);
  if (isEnough && !isMajorityAllowed && !isBrief) return null;
  const free = masters.filter(({ kind, isTaken }) => !isTaken && kinds.includes(kind));
  return free.length === 0 ? null : random.pick(free);
}

export function holders(stage: Stage): readonly Contender[] {
  return [...stage.contenders].filter((contender) => isInside(stage, contender));
}

export function isInside({ witness }: Stage, { plan }: Contender): boolean {
  const section = witness.sectionOf(plan.id);
  return section !== undefined && section.endedAt === null;
}
