// `redlockctl status NAME...`: the holder of a lock, its votes and its wait queue. It changes
// nothing. It exits 75 when a lock is held, so that scripts can ask by the exit code.

import stringWidth from 'string-width';
import { exitCode } from '../text/exit-codes.ts';
import { jsonLine } from '../text/json.ts';
import { quoted } from '../text/quote.ts';
import type { Call } from './call.ts';
import { withEndings } from './history/ended-runs.ts';
import type { LockState, State } from './lock-state.ts';
import { renderLock } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';

const watchEveryMs = 1_000;

export const codeOf: Readonly<Record<State, number>> = {
  free: exitCode.ok,
  orphan: exitCode.ok,
  held: exitCode.busy,
  frozen: exitCode.busy,
  split: exitCode.busy,
  unknown: exitCode.unreachable,
  unfit: exitCode.config,
};

export async function status({
  words,
  settings,
  clock,
  print,
  tell,
  columns,
}: Call): Promise<number> {
  const query = await MasterQuery.of(settings, clock);
  const names = words.operands;
  for (const name of names.filter((one) => /[*?[]/.test(one)))
    tell(`${quoted(name)} is taken for a name (redlockctl list ${quoted(name)} takes a pattern)`);
  const render = (locks: readonly LockState[]) =>
    words.has('--json') ? jsonLine({ locks }) : locks.map(renderLock).join('\n');
  if (!words.has('--watch')) {
    const locks = await withEndings(query, await query.look(names));
    print(render(locks));
    return worstOf(locks.map(({ state }) => codeOf[state]));
  }
  let lines = 0;
  for (;;) {
    const text = render(await withEndings(query, await query.look(names)));
    // A pipe gets one state after the other; a terminal shows the newest in place of the last.
    print(text, columns === null ? 0 : lines);
    lines = linesOf(text, columns ?? Number.POSITIVE_INFINITY);
    query.reset();
    await query.pause(watchEveryMs);
  }
}

/** How many lines of a terminal the text takes, which breaks lines that are too wide. */
function linesOf(text: string, columns: number): number {
  const widths = text
    .split('\n')
    .slice(0, -1)
    .map((line) => stringWidth(line));
  return widths.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0);
}

/** The worst of several, where any failure beats a held lock and a held lock beats a free one. */
export function worstOf(codes: readonly number[]): number {
  const order: readonly number[] = [exitCode.config, exitCode.unreachable, exitCode.busy];
  return order.find((code) => codes.includes(code)) ?? exitCode.ok;
}
