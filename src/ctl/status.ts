// `redlockctl status NAME...`: the holder of a lock, its votes and its wait queue. It only looks,
// and exits 75 when a lock is held, so that scripts can ask by the exit code.

import stringWidth from 'string-width';
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

export async function status({
  args,
  settings,
  clock,
  print,
  printLines,
  columns,
}: Call): Promise<number> {
  const query = await MasterQuery.of(settings, clock);
  const names = args.operands;
  const isJson = args.has('--json');
  const linesOf = (locks: readonly LockState[]) =>
    fittedLines(
      locks.flatMap((lock, at) => [...toned(at === 0 ? '' : '\n', 'plain'), ...lockLines(lock)]),
      columns,
    );
  if (!args.has('--watch')) {
    const locks = await query.look(names);
    if (isJson) print(jsonLine({ locks }));
    else printLines(linesOf(locks));
    return worstOf(locks.map(({ state }) => codeOf[state]));
  }
  let lines = 0;
  for (;;) {
    const locks = await query.look(names);
    const shown = isJson ? [] : linesOf(locks);
    // A pipe gets one state after the other; a terminal shows the newest in place of the last.
    const over = columns === null ? 0 : lines;
    if (isJson) print(jsonLine({ locks }), over);
    else printLines(shown, over);
    const texts = isJson ? [jsonLine({ locks }).trimEnd()] : shown.map(({ text }) => text);
    lines = rowCountOf(texts, columns ?? Number.POSITIVE_INFINITY);
    query.reset();
    await query.clock.sleep(watchEveryMs);
  }
}

/** How many rows of a terminal the lines take: it breaks those that are too wide. */
function rowCountOf(lines: readonly string[], columns: number): number {
  const widths = lines.map((line) => stringWidth(line));
  return widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
}

/** The worst of several, where any failure beats a held lock and a held lock beats a free one. */
export function worstOf(codes: readonly number[]): number {
  const order: readonly number[] = [exitCode.config, exitCode.unreachable, exitCode.busy];
  return order.find((code) => codes.includes(code)) ?? exitCode.ok;
}
