// What must be true of the sections and the runs of a cell, whatever happened to them. It decides
// from what it is given and does nothing.

import type { Outlived, Section } from './witness.ts';

export interface Finding {
  readonly kind: 'overlap' | 'outlived' | 'fence' | 'end' | 'left' | 'endless';
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
}

/** The exit code of the command of every run. */
export const ownCode = 7;

/** No two sections of a lock overlap, and each has a higher fencing number than the one before. */
export function judgeSections(sections: Iterable<Section>): readonly Finding[] {
  const findings: Finding[] = [];
  const all = [...sections].sort((a, b) => a.begunAt - b.begunAt);
  for (const lock of new Set(all.map(({ lock }) => lock))) {
    const inOrder = all.filter((section) => section.lock === lock);
    let longest: Section | null = null;
    let before: Section | null = null;
    for (const section of inOrder) {
      if (longest !== null && longest.lastAt > section.begunAt) {
        const ms = ((longest.lastAt - section.begunAt) * 1000).toFixed(1);
        const what = `${tell(longest)} gave a sign ${ms} ms after ${tell(section)} had begun`;
        findings.push({ kind: 'overlap', what, runs: [longest.run, section.run] });
      }
      if (before !== null && !(section.fence > before.fence)) {
        const what = `${tell(section)} began after ${tell(before)}`;
        findings.push({ kind: 'fence', what, runs: [before.run, section.run] });
      }
      before = section;
      if (longest === null || section.lastAt > longest.lastAt) longest = section;
    }
  }
  return findings;
}

/** No process is alive when a later section of its lock has begun. */
export function judgeOutlived(outlived: readonly Outlived[]): readonly Finding[] {
  return outlived.map(({ section, later, pid }) => ({
    kind: 'outlived',
    what: `process ${pid} of ${tell(section)} was alive after ${tell(later)} had begun`,
    runs: [section.run, later.run],
  }));
}

/** A run ends as documented, and its exit code is true. */
export function judgeEnd(ended: Ended, section: Section | undefined): Finding | null {
  const { code, signal, sent, isImpatient, run, stderr } = ended;
  const isRight = () => {
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

function tell({ run, shape, fence, endedAt }: Section): string {
  const state = endedAt === null ? 'unfinished' : 'finished';
  return `run ${run} (${shape}, fence ${fence}, ${state})`;
}
