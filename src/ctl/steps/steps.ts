// The steps after `redlockctl acquire`: `extend` and `release` with its token, and `check`. By
// default `check` tells inside a run or between steps whether the lock is still held; without a
// name it asks for the lock of the enclosing run, which the environment names. Exit 79 is "lost",
// as in redlock-run.

import { readCount, readPositiveDuration } from '../../config/values.ts';
import { isSuccess, parseRecord } from '../../lock/history.ts';
import type { Clock } from '../../lock/ports.ts';
import { quorumOf } from '../../lock/quorum.ts';
import type { SeenHistory } from '../../redis/snapshot.ts';
import { exitCode, UsageError, ValueError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { failureLine, roughly } from '../../text/lines.ts';
import type { Call, CtlSettings } from '../call.ts';
import { allLines, MasterQuery } from '../master-query.ts';
import { openStanding } from './acquire.ts';
import {
  type Access,
  type Answer,
  extendBy,
  type LockHandle,
  look,
  releaseByToken,
} from './lock-handle.ts';

// `check NAME --succeeded-within DUR` and `--max-skips N`: whether a job still runs, by the history
// of its lock. It prints nothing when all is well, so that cron sends no mail.

/** What the masters know of a job. */
export interface Past {
  /** Since a run last ended well; null: none is known. */
  readonly succeededAgoMs: number | null;
  /** How many runs since then did not happen because the lock was held. */
  readonly skipCount: number;
  /** False: there is no history at all. */
  readonly isKnown: boolean;
}

function isAboutPast({ args }: Pick<Call, 'args'>): boolean {
  return args.has('--succeeded-within') || args.has('--max-skips');
}

async function checkPast({ args, settings, clock, print, tell }: Call): Promise<number> {
  const [name] = args.operands;
  if (name === undefined) throw new UsageError('check: NAME missing (say which lock)');
  if (args.has('--token'))
    throw new UsageError('check: --token: is about a held lock, not the history (leave it out)');
  const withinMs = numberOf(
    '--succeeded-within',
    args.textOf('--succeeded-within'),
    readPositiveDuration,
  );
  const mostSkips = numberOf('--max-skips', args.textOf('--max-skips'), readCount);
  const query = await MasterQuery.of(settings, clock);
  const [histories = []] = await query.histories([name], allLines);
  const failures = query.failures();
  query.close();
  const which = quoted(name);
  for (const [index, failed] of failures.entries())
    if (failed !== null) tell(`${query.observers[index]?.name}: ${failureLine(failed)}`);
  if (failures.some((failed) => failed?.cause === 'misconfigured')) return exitCode.config;
  const past = pastOf(histories);
  const { succeededAgoMs, skipCount, isKnown } = past;
  const finish = (outcome: string, line: string | null, code: number) => {
    const at = succeededAgoMs === null ? null : new Date(Date.now() - succeededAgoMs).toISOString();
    const facts = { succeededAt: at, succeededAgoMs, skips: skipCount };
    if (args.has('--json')) print(jsonLine({ name, outcome, ...facts }));
    else if (line !== null) tell(line);
    return code;
  };
  const answeredCount = failures.filter((failed) => failed === null).length;
  if (answeredCount < quorumOf(failures.length)) {
    const line = `no quorum: ${which}: too few masters answered to tell`;
    return finish('unknown', line, exitCode.unreachable);
  }
  if (!isKnown)
    return finish(
      'no-history',
      `history: ${which}: there is none (check the name)`,
      exitCode.config,
    );
  const look = '(look at redlockctl history)';
  if (withinMs !== null && (succeededAgoMs === null || succeededAgoMs > withinMs)) {
    const last = succeededAgoMs === null ? 'no known success' : `${roughly(succeededAgoMs)} ago`;
    const why = succeededAgoMs === null ? last : `last success ${last}`;
    return finish('overdue', `overdue: ${which}: ${why} ${look}`, exitCode.warnings);
  }
  if (mostSkips !== null && skipCount > mostSkips) {
    const why = `${skipCount} runs were skipped since the last success`;
    return finish('skipped', `skipped: ${which}: ${why} ${look}`, exitCode.warnings);
  }
  return finish('ok', null, exitCode.ok);
}

/**
 * One master that has the success is enough, by its own clock. Of the skips counts what most
 * masters have.
 */
export function pastOf(histories: readonly SeenHistory[]): Past {
  const each = histories.map(({ nowMs, lines, skips, starts, succeededAtMs }) => {
    const successes = lines.filter(({ line }) => isSuccess(line));
    const times = successes.map(({ takenAtMs }) => takenAtMs);
    const succeededAt = Math.max(succeededAtMs ?? 0, ...times);
    const gaveUp = lines.filter(({ line, takenAtMs }) => {
      const outcome = parseRecord(line)?.outcome ?? '';
      return takenAtMs > succeededAt && ['busy', 'superseded'].includes(outcome);
    });
    const skipped = skips.reduce((sum, { countSinceSuccess }) => sum + countSinceSuccess, 0);
    return {
      agoMs: succeededAt === 0 ? null : Math.max(0, nowMs - succeededAt),
      skipCount: skipped + gaveUp.length,
      isKnown: succeededAt > 0 || [lines, skips, starts].some(({ length }) => length > 0),
    };
  });
  const ages = each.flatMap(({ agoMs }) => agoMs ?? []);
  const counts = each.map(({ skipCount }) => skipCount).sort((a, b) => a - b);
  return {
    succeededAgoMs: ages.length === 0 ? null : Math.min(...ages),
    skipCount: counts[Math.floor((counts.length - 1) / 2)] ?? 0,
    isKnown: each.some(({ isKnown }) => isKnown),
  };
}

function numberOf(option: string, text: string | null, read: (text: string) => number) {
  try {
    return text === null ? null : read(text);
  } catch (error) {
    throw error instanceof ValueError ? new UsageError(`${option}: ${error.message}`) : error;
  }
}

export async function extend(call: Call): Promise<number> {
  const { settings, clock } = call;
  const handle = handleOf(call);
  return tellOf(call, handle, await extendBy(handle, settings.ttlMs, accessTo(settings, clock)));
}

export async function release(call: Call): Promise<number> {
  const { settings, clock } = call;
  const handle = handleOf(call);
  return tellOf(call, handle, await releaseByToken(handle, accessTo(settings, clock)));
}

export async function check(call: Call): Promise<number> {
  if (isAboutPast(call)) return checkPast(call);
  const { args, environment, settings, clock } = call;
  const name = args.operands[0] ?? environment.REDLOCK_NAME;
  const token = args.textOf('--token') ?? environment.REDLOCK_TOKEN;
  if (!name || !token) {
    throw new UsageError(
      'check: no lock to ask for (call it inside a run of redlock-run, or give NAME and --token)',
    );
  }
  return tellOf(call, { name, token }, await look({ name, token }, accessTo(settings, clock)));
}

function accessTo(settings: CtlSettings, clock: Clock): Access {
  return {
    clock,
    query: () => MasterQuery.of(settings, clock),
    redlock: () => openStanding(settings, clock),
  };
}

function handleOf({ args }: Call): LockHandle {
  const token = args.textOf('--token');
  if (token === null) throw new UsageError(`${args.row.verb}: --token missing (acquire prints it)`);
  return { name: args.operands[0] ?? '', token };
}

const codes: Readonly<Record<Answer['kind'], number>> = {
  held: exitCode.ok,
  released: exitCode.ok,
  lost: exitCode.lost,
  unknown: exitCode.unreachable,
};

function tellOf({ args, print, tell }: Call, { name }: LockHandle, answer: Answer): number {
  const { kind: outcome } = answer;
  const validMs = answer.kind === 'held' && Number.isFinite(answer.validMs) ? answer.validMs : null;
  if (args.has('--json')) {
    print(jsonLine({ name, outcome, validMs: validMs === null ? null : Math.floor(validMs) }));
  } else if (outcome === 'lost') tell(`lost: ${quoted(name)}: not held with this token any more`);
  else if (outcome === 'unknown')
    tell(`no quorum: ${quoted(name)}: too few masters answered to tell`);
  else
    print(
      `${outcome}: ${quoted(name)}${validMs === null ? '' : `: for another ${roughly(validMs)}`}\n`,
    );
  return codes[outcome];
}
