// `redlockctl status NAME...`: the holder of a lock, its votes and its wait queue. It only looks,
// and exits 75 when a lock is held, so that scripts can ask by the exit code.

import stringWidth from 'string-width';
import type { TonedLine } from '../cli/colour.ts';
import { fittedLines, toned } from '../cli/rows.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine } from '../text/foreign-text.ts';
import type { Call } from './call.ts';
import type { LockState, State } from './lock-state.ts';
import { lockLines } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';

const watchEveryMs = 1_000;

export const codeOf: Readonly<Record<State, number>> = {
  free: exitCode.ok,
  orphan: exitCode.ok,
  held: exitCode.busy,
  frozen: exitCode.busy,
  split: exitCode.busy,
  unknown: exitCode.unreachable,
  misconfigured: exitCode.config,
};

export async function status(call: Call): Promise<number> {
  const { args, settings, clock, printLines, columns } = call;
  const query = await MasterQuery.of(settings, clock);
  let shownRows = 0;
  for (;;) {
    const locks = await query.look(args.operands);
    const lines = args.has('--json')
      ? toned(jsonLine({ locks }), 'plain')
      : fittedLines(linesOf(locks), columns);
    printLines(lines, shownRows);
    // A pipe gets one state after the other; a terminal shows the newest in place of the last.
    if (columns !== null) shownRows = rowCountOf(lines, columns);
    if (!args.has('--watch')) return worstOf(locks.map(({ state }) => codeOf[state]));
    query.reset();
    await query.clock.sleep(watchEveryMs);
  }
}

function linesOf(locks: readonly LockState[]): TonedLine[] {
  return locks.flatMap((lock, at) => [...toned(at === 0 ? '' : '\n', 'plain'), ...lockLines(lock)]);
}

/** How many rows of a terminal the lines take: it breaks those that are too wide. */
function rowCountOf(lines: readonly TonedLine[], columns: number): number {
  const widths = lines.map(({ text }) => stringWidth(text));
  return widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
}

/** The worst of several, where any failure beats a held lock and a held lock beats a free one. */
function worstOf(codes: readonly number[]): number {
  const order: readonly number[] = [exitCode.config, exitCode.unreachable, exitCode.busy];
  return order.find((code) => codes.includes(code)) ?? exitCode.ok;
}
