// `redlockctl status NAME...`: the holder of a lock, its votes and its wait queue; and `wait NAME`,
// which returns when the lock is free. Both only look. `status` exits 75 when a lock is held, so
// that scripts can ask by the exit code. `wait` stands in no queue and does not take the lock, so
// another client may have it a moment later.

import stringWidth from 'string-width';
import { fittedLines, toned } from '../cli/rows.ts';
import { WaitNotice } from '../cli/wait-notice.ts';
import { gaveUpAfter } from '../lock/wait.ts';
import { exitCode } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';
import { busyLine, noQuorumLine, waitedOn } from '../text/lines.ts';
import type { Call } from './call.ts';
import type { LockState, State } from './lock-state.ts';
import { describe, headlineOf, lockLines, together } from './lock-text.ts';
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
  tell,
  columns,
}: Call): Promise<number> {
  const query = await MasterQuery.of(settings, clock);
  const names = args.operands;
  for (const name of names.filter((one) => /[*?[]/.test(one)))
    tell(`${quoted(name)} is taken for a name (redlockctl list ${quoted(name)} takes a pattern)`);
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
    await query.pause(watchEveryMs);
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

const everyMs = 500;
/** Masters expire keys a moment late rather than early. */
const expiryMs = 1;

export async function waitUntilFree(call: Call): Promise<number> {
  const { args, settings, clock, print, tell, stderr, interrupted } = call;
  const { waitMs, giveUpAfterMs } = settings;
  const name = args.operands[0] ?? '';
  const query = await MasterQuery.of(settings, clock);
  const aborted = interrupted();
  const notice = new WaitNotice(
    {
      names: [name],
      waitMs,
      print: (line, paint) => stderr.write(`redlockctl: ${paint(line)}\n`),
      isPlain: false,
    },
    stderr,
    call.environment,
  );
  const beganAt = clock.now();
  let quorumSeenAt = beganAt;
  for (;;) {
    const [lock] = (await query.look([name])) as [LockState];
    const waitedMs = clock.now() - beganAt;
    const code = codeOf[lock.state];
    if (code !== exitCode.unreachable) quorumSeenAt = clock.now();
    const leftMs = (waitMs ?? Number.POSITIVE_INFINITY) - waitedMs;
    const isOver =
      aborted.aborted ||
      code === exitCode.ok ||
      code === exitCode.config ||
      leftMs <= 0 ||
      clock.now() - quorumSeenAt >= giveUpAfterMs;
    if (isOver) {
      notice.end();
      query.close();
      if (args.has('--json')) print(jsonLine({ waitedMs: Math.round(waitedMs), lock }));
      const gaveUpAfterMs = gaveUpAfter(settings, waitedMs);
      if (code !== exitCode.ok && !aborted.aborted) tell(complaintAbout(lock, gaveUpAfterMs));
      return code;
    }
    notice.update(
      { key: keyOf(lock), position: null, printAfterMs: 0, why: (nowMs) => whyOf(lock, nowMs) },
      waitedMs,
    );
    const expiresInMs = (lock.remainingMs ?? Number.POSITIVE_INFINITY) + expiryMs;
    query.reset();
    await clock.sleep(Math.min(everyMs, expiresInMs, leftMs), aborted);
  }
}

function keyOf({ state, holders }: LockState): string {
  return `${state} ${holders.map(({ token }) => token).join(' ')}`;
}

/** What holds the wait up. */
function whyOf(lock: LockState, nowMs: number): string {
  const [holder] = lock.holders;
  if (lock.state === 'unknown') return `no quorum: ${failuresOf(lock)}`;
  if (lock.state !== 'held' || holder === undefined) return headlineOf(lock);
  if (lock.sharing !== 'exclusive') return together(lock);
  const { host, pid, user, since, label } = holder;
  if (host === null || pid === null || user === null || since === null || label === null)
    return `held by ${describe(holder)}`;
  return `held by ${waitedOn({ host, pid, user, since, label }, nowMs)}`;
}

function complaintAbout(lock: LockState, gaveUpAfterMs: number | null): string {
  switch (codeOf[lock.state]) {
    case exitCode.busy:
      return busyLine(quoted(lock.name), headlineOf(lock), 'wait longer with -w');
    case exitCode.config:
      return `masters: ${failuresOf(lock)}`;
    default:
      return noQuorumLine(quoted(lock.name), failuresOf(lock), gaveUpAfterMs, 'giveUpAfter');
  }
}

function failuresOf({ votes }: LockState): string {
  return votes
    .flatMap(({ master, failure }) => (failure === null ? [] : [`${master}: ${failure.message}`]))
    .join('; ');
}
