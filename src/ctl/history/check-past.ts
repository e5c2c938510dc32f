// `check NAME --succeeded-within DUR` and `--max-skips N`: whether a job still runs, by the history
// of its lock. It prints nothing when all is well, so that cron sends no mail.

import { kinds, readOption } from '../../config/values.ts';
import { isSuccess, parseRun } from '../../lock/history.ts';
import { median } from '../../lock/quorum.ts';
import type { SeenHistory } from '../../redis/snapshot.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { roughly } from '../../text/lines.ts';
import type { Call } from '../call.ts';
import { allLines, MasterQuery } from '../master-query.ts';

/** What the masters know of a job. */
interface LastSuccess {
  /** Since a run last ended well; null: none is known. */
  readonly succeededAgoMs: number | null;
  /** How many runs since then did not happen because the lock was held. */
  readonly skipCount: number;
  /** False: there is no history at all. */
  readonly isKnown: boolean;
}

export function isAboutPast({ args }: Pick<Call, 'args'>): boolean {
  return args.has('--succeeded-within') || args.has('--max-skips');
}

export async function checkPast({ args, settings, clock, print, tell }: Call): Promise<number> {
  const [name] = args.operands;
  if (name === undefined) throw new UsageError('check: NAME missing (say which lock)');
  if (args.has('--token'))
    throw new UsageError('check: --token: is about a held lock, not the history (leave it out)');
  const given = (option: string, read: (text: string) => number) => {
    const text = args.textOf(option);
    return text === null ? null : readOption(option, text, read);
  };
  const withinMs = given('--succeeded-within', kinds.span.parse);
  const maxSkips = given('--max-skips', kinds.count.parse);
  const query = await MasterQuery.of(settings, clock);
  const [histories = []] = await query.histories([name], allLines);
  query.close();
  for (const line of query.failureLines()) tell(line);
  if (query.failures().some((failed) => failed?.cause === 'misconfigured')) return exitCode.config;
  const { succeededAgoMs, skipCount, isKnown } = lastSuccessOf(histories);
  const finish = (outcome: string, head: string, why: string, code: number) => {
    const at = succeededAgoMs === null ? null : new Date(Date.now() - succeededAgoMs).toISOString();
    const facts = { succeededAt: at, succeededAgoMs, skips: skipCount };
    if (args.has('--json')) print(jsonLine({ name, outcome, ...facts }));
    else if (code !== exitCode.ok) tell(`${head}: ${quoted(name)}: ${why}`);
    return code;
  };
  const warn = (outcome: string, why: string) =>
    finish(outcome, outcome, `${why} (look at redlockctl history)`, exitCode.warnings);
  if (query.noQuorumLine !== null)
    return finish('unknown', 'no quorum', 'too few masters answered to tell', exitCode.unreachable);
  if (!isKnown)
    return finish('no-history', 'history', 'there is none (check the name)', exitCode.config);
  if (withinMs !== null && succeededAgoMs === null) return warn('overdue', 'no known success');
  if (withinMs !== null && succeededAgoMs !== null && succeededAgoMs > withinMs)
    return warn('overdue', `last success ${roughly(succeededAgoMs)} ago`);
  if (maxSkips !== null && skipCount > maxSkips)
    return warn('skipped', `${skipCount} runs were skipped since the last success`);
  return finish('ok', '', '', exitCode.ok);
}

/**
 * One master that has the success is enough, by its own clock. Of the skips counts what most
 * masters have.
 */
export function lastSuccessOf(histories: readonly SeenHistory[]): LastSuccess {
  const each = histories.map(({ nowMs, lines, skips, starts, succeededAtMs }) => {
    const successes = lines.filter(({ line }) => isSuccess(line));
    const times = successes.map(({ takenAtMs }) => takenAtMs);
    const succeededAt = Math.max(succeededAtMs ?? 0, ...times);
    const gaveUp = lines.filter(({ line, takenAtMs }) => {
      const outcome = parseRun(line)?.outcome ?? '';
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
  return {
    succeededAgoMs: ages.length === 0 ? null : Math.min(...ages),
    skipCount: median(each.map(({ skipCount }) => skipCount)),
    isKnown: each.some(({ isKnown }) => isKnown),
  };
}
