// `redlockctl freeze NAME` and `thaw NAME`: an operator's lock without a process. Frozen, a lock
// has no new holder, until the time of --until or --for, if there is one; the present holder goes
// on. Any operator may thaw it.

import { randomBytes } from 'node:crypto';
import { readOption } from '../config/values.ts';
import { parseFreeze, renderFreeze } from '../lock/people.ts';
import { parseValue } from '../lock/value.ts';
import { maxReportedBytes } from '../redis/replies.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { quoted } from '../text/foreign-text.ts';
import { frozenLine, holderText } from '../text/lines.ts';
import { parseDuration } from '../text/time.ts';
import type { Call, VerbArguments } from './call.ts';
import { describeFreeze } from './holdings.ts';
import type { LockState } from './lock-state.ts';
import { describe, headlineOf } from './lock-text.ts';
import { MasterQuery } from './master-query.ts';
import { asArgument } from './names.ts';
import { addToHistory, freezeLock, type Thawed, thawLock } from './operations.ts';
import { type Answer, actLine, operatorOf, printAnswer } from './operator.ts';

const maxMs = 10 * 365 * 24 * 60 * 60 * 1000;

/**
 * In ms from `now`; null: until it is thawed.
 * @throws UsageError
 */
export function freezeMsOf({ textOf }: Pick<VerbArguments, 'textOf'>, now: Date): number | null {
  const [until, duration] = [textOf('--until'), textOf('--for')];
  if (until !== null && duration !== null)
    throw new UsageError('freeze: --until and --for: both given (say one of them)');
  const text = until ?? duration;
  if (text === null) return null;
  const ms =
    until === null
      ? readOption('freeze: --for', text, parseDuration)
      : instantOf(text, now) - now.getTime();
  const which = `freeze: ${until === null ? '--for' : '--until'}: ${quoted(text)}`;
  if (ms <= 0) throw new UsageError(`${which}: over already (give a later one)`);
  if (ms > maxMs) throw new UsageError(`${which}: more than ten years (leave it out)`);
  return ms;
}

/** In ms since 1970: `18:00`, the next one; `2026-12-01`, its first moment; local time. */
function instantOf(text: string, now: Date): number {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(text) ?? [];
  if (hours !== undefined && Number(hours) < 24 && Number(minutes) < 60) {
    const instant = new Date(now);
    instant.setHours(Number(hours), Number(minutes), 0, 0);
    if (instant <= now) instant.setDate(instant.getDate() + 1);
    return instant.getTime();
  }
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const isMoment = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(Z|[+-]\d{2}:?\d{2})?$/.test(text);
  const instant = isDay || isMoment ? Date.parse(isDay ? `${text}T00:00` : text) : Number.NaN;
  if (Number.isNaN(instant) || !isInCalendar(text.slice(0, 10))) {
    const advice = 'write 18:00, 2026-12-01 or 2026-12-01T18:00';
    throw new UsageError(`freeze: --until: ${quoted(text)}: not a time (${advice})`);
  }
  return instant;
}

/** False for 2027-02-31, which Date takes for a day of March. */
function isInCalendar(day: string): boolean {
  const midnight = new Date(`${day}T00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

export async function freeze(call: Call): Promise<number> {
  const { args, settings, clock, holderRecord } = call;
  const { name } = args;
  onlyRedlock(call);
  const by = operatorOf(call);
  if (by.note === null)
    throw new UsageError('freeze: --note missing (say why, for the people that it keeps waiting)');
  const forMs = freezeMsOf(args, new Date());
  const token = randomBytes(20).toString('base64url');
  const value = renderFreeze({ token, ...holderRecord(), note: by.note });
  if (Buffer.byteLength(value) > maxReportedBytes)
    throw new UsageError('freeze: --note: too long in bytes (say it shorter)');
  const query = await MasterQuery.of(settings, clock);
  const outcome = await freezeLock(query, name, value, forMs ?? 0);
  const failed = failedIn(query);
  const noQuorum = noQuorumCode(query);
  const why = query.failureLines().join('; ');
  query.reset();
  if (outcome === 'frozen') await addToHistory(query, name, actLine('freeze', by, token));
  const [lock] = (await query.look([name])) as [LockState];
  const facts = { token: outcome === 'frozen' ? token : null, failed };
  if (outcome !== 'no-quorum') return printAnswer(call, freezeAnswer(outcome, lock), facts);
  const isLeft = failed.length > 0 ? ', or thaw it when they answer: some may show it' : '';
  const message = `not frozen: ${why || headlineOf(lock)} (try again${isLeft})`;
  return printAnswer(call, { outcome, message, code: noQuorum }, facts);
}

function freezeAnswer(outcome: 'frozen' | 'taken', lock: LockState): Answer {
  const { freeze: shown, masters, state } = lock;
  if (outcome === 'taken') {
    const by = shown ? describeFreeze(shown) : 'frozen by another person';
    const message = `${by} (left alone; redlockctl thaw ends it)`;
    return { outcome, message, code: exitCode.busy };
  }
  const holder = state === 'held' ? lock.holders[0] : undefined;
  const rest = holder ? `; the present one goes on: ${describe(holder)}` : '';
  const message = `no new run starts, on ${shown?.votes ?? 0} of ${masters} masters${rest}`;
  return { outcome, message, code: exitCode.ok };
}

export async function thaw(call: Call): Promise<number> {
  const { args, settings, clock } = call;
  const { name } = args;
  onlyRedlock(call);
  const by = operatorOf(call);
  const query = await MasterQuery.of(settings, clock);
  const lineFor = (value: string) => actLine('thaw', by, parseValue(value).token);
  const thawed = await thawLock(query, name, lineFor);
  const values = thawed.kind === 'thawed' ? thawed.values : [];
  const token = parseFreeze(values[0] ?? '')?.token ?? null;
  const facts = { token, failed: failedIn(query) };
  return printAnswer(call, thawAnswer(thawed, name, query), facts);
}

function thawAnswer(thawed: Thawed, name: string, query: MasterQuery): Answer {
  const { kind: outcome } = thawed;
  const why = query.failureLines().join('; ');
  const again = `redlockctl thaw ${asArgument(name)} again when it answers`;
  const rest = why && `; a freeze may be left where a master failed: ${why} (${again})`;
  switch (thawed.kind) {
    case 'thawed': {
      const was = thawed.values.map(freezeText).join(' and ');
      const on = `${thawed.count} of ${query.servers.length} masters`;
      return { outcome, message: `was ${was}; removed on ${on}${rest}`, code: exitCode.ok };
    }
    case 'free':
      return { outcome, message: `not frozen: nothing to thaw${rest}`, code: exitCode.ok };
    case 'changed': {
      const message = `frozen anew in the meantime: left alone${rest}`;
      return { outcome, message, code: exitCode.busy };
    }
    case 'no-quorum': {
      const message = `${why} (try again when a quorum answers)`;
      return { outcome, message, code: noQuorumCode(query) };
    }
  }
}

/** A freeze that was removed, without when it would have ended. */
function freezeText(value: string): string {
  const freeze = parseFreeze(value);
  return freeze === null ? `held by ${holderText(value)}` : frozenLine(freeze);
}

/** The masters that failed: a freeze may be left on them. */
function failedIn(query: MasterQuery): readonly string[] {
  const failures = query.failures();
  return query.servers.flatMap(({ name }, at) => (failures[at] ? [name] : []));
}

function noQuorumCode(query: MasterQuery): number {
  const isMisconfigured = query.failures().some((failure) => failure?.cause === 'misconfigured');
  return isMisconfigured ? exitCode.config : exitCode.unreachable;
}

/** Programs of the older protocol know no freezes, and would still run. */
function onlyRedlock({ args, settings }: Call): void {
  if (settings.protocol === 'redlock') return;
  throw new UsageError(
    `${args.verb}: protocol ${settings.protocol}: other programs on it would still run ` +
      '(stop them, or use redlockctl hold)',
  );
}
