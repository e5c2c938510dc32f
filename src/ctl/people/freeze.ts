// `redlockctl freeze NAME` and `thaw NAME`: a person's lock without a process. Frozen, a lock has
// no new holder, until the time of --until or --for, if there is one; the present holder goes on.
// Any person may thaw it.

import { randomBytes } from 'node:crypto';
import { readOption } from '../../config/values.ts';
import { parseFreeze, renderFreeze } from '../../lock/freeze.ts';
import { parseValue } from '../../lock/value.ts';
import { maxToldBytes } from '../../redis/replies.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { frozenLine, holderText } from '../../text/lines.ts';
import { parseDuration } from '../../text/time.ts';
import type { Call, VerbArguments } from '../call.ts';
import { describeFreeze } from '../holdings.ts';
import type { LockState } from '../lock-state.ts';
import { describe, headlineOf } from '../lock-text.ts';
import { MasterQuery } from '../master-query.ts';
import { asArgument } from '../names.ts';
import { freezeLock, thawLock } from './acts.ts';
import { actLine, addToHistory, personOf } from './person.ts';

const maxMs = 10 * 365 * 24 * 60 * 60 * 1000;

/**
 * In ms from `now`; null: until it is thawed.
 * @throws UsageError
 */
export function freezeMsOf({ textOf }: Pick<VerbArguments, 'textOf'>, now: Date): number | null {
  const [until, duration] = [textOf('--until'), textOf('--for')];
  if (until !== null && duration !== null)
    throw new UsageError('freeze: --until and --for: both given (say one of them)');
  if (duration !== null)
    return bounded('--for', duration, readOption('freeze: --for', duration, parseDuration));
  return until === null ? null : bounded('--until', until, instantOf(until, now) - now.getTime());
}

function bounded(option: string, text: string, ms: number): number {
  if (ms <= 0)
    throw new UsageError(`freeze: ${option}: ${quoted(text)}: over already (give a later one)`);
  if (ms > maxMs)
    throw new UsageError(`freeze: ${option}: ${quoted(text)}: more than ten years (leave it out)`);
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

interface Answer {
  readonly outcome: 'frozen' | 'taken' | 'thawed' | 'free' | 'changed' | 'no-quorum';
  /** One line for people. */
  readonly message: string;
  readonly code: number;
  /** Of the freeze; null: there is none. */
  readonly token: string | null;
  /** The masters that failed: on these a freeze may be left. */
  readonly failed: readonly string[];
}

export async function freeze(call: Call): Promise<number> {
  const { args, settings, clock, holderRecord } = call;
  const name = args.operands[0] ?? '';
  onlyRedlock(call);
  const by = personOf(call);
  if (by.note === null)
    throw new UsageError('freeze: --note missing (say why, for the people that it keeps waiting)');
  const forMs = freezeMsOf(args, new Date());
  const token = randomBytes(20).toString('base64url');
  const value = renderFreeze({ token, ...holderRecord(), note: by.note });
  if (Buffer.byteLength(value) > maxToldBytes)
    throw new UsageError('freeze: --note: too long in bytes (say it shorter)');
  const query = await MasterQuery.of(settings, clock);
  const { kind } = await freezeLock(query, name, value, forMs ?? 0);
  const failed = failedIn(query);
  const whyFailed = whyNot(query);
  query.reset();
  if (kind === 'frozen') await addToHistory(query, name, actLine('freeze', by, token));
  const [lock] = await query.look([name]);
  if (kind === 'no-quorum') {
    const isLeft = failed.length > 0 ? ', or thaw it when they answer: some may show it' : '';
    const why = whyFailed || (lock ? headlineOf(lock) : 'no quorum');
    const message = `not frozen: ${why} (try again${isLeft})`;
    return told(call, name, { ...noQuorum(query), message, failed });
  }
  return told(call, name, { ...frozenAnswer(kind, lock, token), failed });
}

export async function thaw(call: Call): Promise<number> {
  const { args, settings, clock } = call;
  const name = args.operands[0] ?? '';
  onlyRedlock(call);
  const by = personOf(call);
  const query = await MasterQuery.of(settings, clock);
  const lineFor = (value: string) => actLine('thaw', by, parseValue(value).token);
  const thawed = await thawLock(query, name, lineFor);
  const failed = failedIn(query);
  const again = `redlockctl thaw ${asArgument(name)} again when it answers`;
  const rest =
    failed.length > 0
      ? `; a freeze may be left where a master failed: ${whyNot(query)} (${again})`
      : '';
  const { ok, busy } = exitCode;
  switch (thawed.kind) {
    case 'thawed': {
      const { values, count } = thawed;
      const was = values.map(wordsOf).join(' and ');
      const message = `was ${was}; removed on ${count} of ${query.servers.length} masters${rest}`;
      const token = values.map((value) => parseFreeze(value)?.token ?? null)[0] ?? null;
      return told(call, name, { outcome: 'thawed', message, code: ok, token, failed });
    }
    case 'free': {
      const message = `not frozen: nothing to thaw${rest}`;
      return told(call, name, { outcome: 'free', message, code: ok, token: null, failed });
    }
    case 'changed': {
      const message = `frozen anew in the meantime: left alone${rest}`;
      return told(call, name, { outcome: 'changed', message, code: busy, token: null, failed });
    }
    case 'no-quorum': {
      const message = `${whyNot(query)} (try again when a quorum answers)`;
      return told(call, name, { ...noQuorum(query), message, failed });
    }
  }
}

/** A freeze that was removed, without when it would have ended. */
function wordsOf(value: string): string {
  const freeze = parseFreeze(value);
  return freeze === null ? `held by ${holderText(value)}` : frozenLine(freeze);
}

function frozenAnswer(
  kind: 'frozen' | 'taken',
  lock: LockState | undefined,
  token: string,
): Omit<Answer, 'failed'> {
  const standing = lock?.freeze ?? null;
  switch (kind) {
    case 'frozen': {
      const on = `on ${standing?.votes ?? 0} of ${lock?.masters ?? 0} masters`;
      const holder = lock?.state === 'held' ? lock.holders[0] : undefined;
      const rest = holder ? `; the present one goes on: ${describe(holder)}` : '';
      const message = `no new run starts, ${on}${rest}`;
      return { outcome: 'frozen', message, code: exitCode.ok, token };
    }
    case 'taken': {
      const message = `${standing ? describeFreeze(standing) : 'frozen by another person'}`;
      const advice = 'left alone; redlockctl thaw ends it';
      const { busy: code } = exitCode;
      return { outcome: 'taken', message: `${message} (${advice})`, code, token: null };
    }
  }
}

function told({ args, print, tell }: Call, name: string, answer: Answer): number {
  const { outcome, message, code, token, failed } = answer;
  if (args.has('--json')) print(jsonLine({ name, outcome, token, message, failed }));
  else if (code === exitCode.ok) print(`${outcome}: ${quoted(name)}: ${message}\n`);
  else tell(`${outcome.replace('-', ' ')}: ${quoted(name)}: ${message}`);
  return code;
}

function failedIn(query: MasterQuery): readonly string[] {
  const failures = query.failures();
  return query.servers.flatMap(({ name }, at) => (failures[at] ? [name] : []));
}

function noQuorum(query: MasterQuery): Omit<Answer, 'message' | 'failed'> {
  const isMisconfigured = query.failures().some((failure) => failure?.cause === 'misconfigured');
  const code = isMisconfigured ? exitCode.config : exitCode.unreachable;
  return { outcome: 'no-quorum', code, token: null };
}

function whyNot(query: MasterQuery): string {
  return query.failureLines().join('; ');
}

/** Programs of the older protocol know no freezes, and would run all the same. */
function onlyRedlock({ args, settings }: Call): void {
  if (settings.protocol === 'redlock') return;
  const { verb } = args;
  throw new UsageError(
    `${verb}: protocol ${settings.protocol}: other programs on it would run all the same ` +
      '(stop them, or use redlockctl hold)',
  );
}
