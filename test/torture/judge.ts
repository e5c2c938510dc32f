// What must be true of the sections and the runs of a cell, whatever happened to them. It decides
// from what it is given and does nothing.

import type { Frozen } from './stage.ts';
import { excludes, type Outlived, type Section } from './witness.ts';

const findingKinds = [
  ...(['overlap', 'outlived', 'twice', 'fence', 'frozen'] as const),
  ...(['end', 'guard', 'left', 'endless'] as const),
] as const;

export interface Finding {
  readonly kind: (typeof findingKinds)[number];
  readonly what: string;
  /** The runs that take part in it. */
  readonly runs: readonly string[];
}

/** How a run ended, as its caller sees it. */
export interface Ended {
  readonly run: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  /** The signals that it was sent. */
  readonly sent: ReadonlySet<NodeJS.Signals>;
  /** Whether it was told not to wait for ever. */
  readonly isImpatient: boolean;
  /** The codes and signals that its plan explains. */
  readonly explains: readonly (number | NodeJS.Signals)[];
}

/** What was done, and to which run or master. */
export interface Fault {
  readonly kind: string;
  readonly target: string;
}

/** The exit code of the command of every run. */
export const ownCode = 7;

/**
 * No two sections overlap that exclude each other, each has a higher fencing number than those
 * before, and its command has begun once.
 */
export function judgeSections(sections: Iterable<Section>): readonly Finding[] {
  const findings: Finding[] = [];
  const inOrder = [...sections].sort((a, b) => a.begunAt - b.begunAt);
  for (const [index, section] of inOrder.entries()) {
    if (section.begunCount > 1) {
      const what = `the command of ${tell(section)} began ${section.begunCount} times`;
      findings.push({ kind: 'twice', what, runs: [section.run] });
    }
    const before = inOrder.slice(0, index).filter((other) => excludes(other, section));
    for (const other of before.filter(({ lastAt }) => lastAt > section.begunAt)) {
      const ms = ((other.lastAt - section.begunAt) * 1000).toFixed(1);
      const what = `${tell(other)} gave a sign ${ms} ms after ${tell(section)} had begun`;
      findings.push({ kind: 'overlap', what, runs: [other.run, section.run] });
    }
    const last = before.at(-1);
    if (last !== undefined && !(section.fence > last.fence)) {
      const what = `${tell(section)} began after ${tell(last)}`;
      findings.push({ kind: 'fence', what, runs: [last.run, section.run] });
    }
  }
  return findings;
}

/** Nothing begins under a lock that is frozen. */
export function judgeFrozen(
  sections: Iterable<Section>,
  frozen: readonly Frozen[],
): readonly Finding[] {
  return [...sections].flatMap((section) => {
    const { lock, begunAt, run } = section;
    const isBarred = frozen.some((one) => {
      return lock.split(',').includes(one.lock) && begunAt > one.from && begunAt < one.to;
    });
    if (!isBarred) return [];
    return [{ kind: 'frozen', what: `${tell(section)} began under a freeze`, runs: [run] }];
  });
}

/** No process is alive when a later section of its lock has begun. One finding for a section. */
export function judgeOutlived(outlived: readonly Outlived[]): readonly Finding[] {
  const pids = new Map<string, number[]>();
  for (const { section, pid } of outlived)
    pids.set(section.run, [...(pids.get(section.run) ?? []), pid]);
  return [...pids].flatMap(([run, [pid, ...more]]) => {
    const first = outlived.find(({ section }) => section.run === run);
    if (first === undefined) return [];
    const others = more.length > 0 ? ` (and ${more.length} others)` : '';
    const who = `process ${pid}${others} of ${tell(first.section)}`;
    const what = `${who} was alive after ${tell(first.later)} had begun`;
    return [{ kind: 'outlived', what, runs: [run, first.later.run] }];
  });
}

/** A run ends as documented, and its exit code is true. */
export function judgeEnd(ended: Ended, section: Section | undefined): Finding | null {
  const { code, signal, sent, isImpatient, run, stderr } = ended;
  const isRight = () => {
    if (ended.explains.includes(signal ?? code ?? 0)) return true;
    if (signal !== null) return sent.has(signal);
    if (code === ownCode) return section !== undefined && section.endedAt !== null;
    // A command under a lock that is lost may still have done its work.
    if (code === 79) return true;
    if (code === 69) return section === undefined;
    if (code === 75) return section === undefined && isImpatient;
    return false;
  };
  if (isRight()) return null;
  const begun = section === undefined ? 'before its command began' : `with ${tell(section)}`;
  const what = `it ended with ${signal ?? code} ${begun}: ${stderr.trim().slice(-600)}`;
  return { kind: 'end', what: `run ${run}: ${what}`, runs: [run] };
}

/** A guard is lost only where something has been done to it, however busy the machine is. */
export function judgeGuard(ended: Ended, faults: readonly Fault[]): Finding | null {
  const { run, stderr, explains } = ended;
  if (!/guard-lost|; ending all that it guarded/.test(stderr)) return null;
  if (explains.includes('SIGKILL')) return null; // By the kernel.
  if (faults.some(({ kind, target }) => target === run && /guard|both/.test(kind))) return null;
  const what = `run ${run} lost a guard to which nothing was done: ${stderr.trim().slice(-600)}`;
  return { kind: 'guard', what, runs: [run] };
}

function tell({ run, shape, fence, endedAt }: Section): string {
  const state = endedAt === null ? 'unfinished' : 'finished';
  return `run ${run} (${shape}, fence ${fence}, ${state})`;
}
