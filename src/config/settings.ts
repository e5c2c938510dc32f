// The settings of one run, from the command line, the environment and the configuration file, with
// the source of each value. They are resolved once and frozen; nothing is connected to. A mistake
// on the command line exits with 64, the same mistake in the environment or a file with 78.

import { dangerOf, type RunTimings, runTimings } from '../lock/timings.ts';
import type { EnclosingLease, Preemptible } from '../lock/types.ts';
import type { Retries } from '../lock/wait.ts';
import type { HoldOn } from '../run/ports.ts';
import { whyCannotStart } from '../run/preconditions.ts';
import { ciJobUrl, traceIdOf } from '../system/caller.ts';
import { quoted } from '../text/foreign-text.ts';
import { enclosingLeaseOf } from '../text/held-locks.ts';
import { renderDuration } from '../text/time.ts';
import type { RunArguments } from './arguments.ts';
import type { LayerName, Place } from './layer.ts';
import { type LockSettings, readLockSettings, refuseForProtocol } from './lock.ts';
import { type MasterSettings, readMasterSettings } from './masters.ts';
import { checkReportPath } from './report-file.ts';
import { type Chosen, conflictOf, type ExecutionContext, Sources } from './sources.ts';
import {
  readBoolean,
  readCount,
  readDuration,
  readHoldOn,
  readLimit,
  readLogFormat,
  readPositiveDuration,
  readSignal,
  readSlots,
  readText,
  readTtl,
  readWait,
} from './values.ts';

export interface Settings extends RunTimings, MasterSettings, LockSettings {
  /** The locks to hold, all or none; at least one, none twice. */
  readonly names: readonly string[];
  readonly command: readonly string[];
  readonly sharing: 'exclusive' | 'shared' | 'slots';
  /** More than 1 with slots; null: --slots was not given. */
  readonly slotCount: number | null;
  readonly preemptible: Preemptible;
  /** A count of retries instead of a wait; null: none. */
  readonly retries: RetrySettings | null;
  /** The length of the queue from which on it is not entered; null: none. */
  readonly maxWaiters: number | null;
  readonly jitterMs: number;
  readonly stopSignal: NodeJS.Signals;
  readonly holdAtLeastMs: number;
  readonly holdOn: HoldOn;
  readonly isReentrant: boolean;
  /** The lock of the enclosing run, with --reentrant; null: the lock is to be acquired. */
  readonly enclosing: EnclosingLease | null;
  /** The page of the CI job; null: none. */
  readonly url: string | null;
  /** The trace that the run is part of: 32 hexadecimal digits; null: none. */
  readonly traceId: string | null;
  /** A shell command, or null. */
  readonly onLost: string | null;
  /** A shell command, or null. */
  readonly notify: string | null;
  /** Null: depends on whether there is a terminal. */
  readonly foreground: boolean | null;
  readonly keepsBackground: boolean;
  /** Never together with keepsBackground. */
  readonly isIsolated: boolean;
  /** Null is no limit. */
  readonly maxRunMs: number | null;
  /** Absolute. */
  readonly reportFile: string | null;
  readonly verbosity: 'quiet' | 'normal' | 'verbose';
  readonly logFormat: 'text' | 'json';
}

type RetrySettings = Retries & { readonly delayMs: number };

export interface SettingsRequest extends ExecutionContext {
  readonly args: RunArguments;
}

/**
 * Resolves each value (flag, then environment, then file, then default), and checks the values one
 * by one and together.
 * @throws UsageError (64), ConfigError (78)
 */
export async function resolveSettings(request: SettingsRequest): Promise<Settings> {
  const { args, cwd } = request;
  const sources = await Sources.read(args.options, request);
  const { get, must } = sources;
  const isReentrant = must('reentrant', readBoolean);
  const enclosing = isReentrant ? enclosingLeaseOf(request.environment, args.names) : null;
  // Under the lock of the enclosing run the ttl of that run counts.
  const ttl = get('ttl', readTtl);
  const timings = checkedTimings(
    ttl && enclosing && enclosing.ttlMs > 0
      ? { value: enclosing.ttlMs, given: theEnclosingRun }
      : ttl,
    get('masterTimeout', readPositiveDuration),
    get('killAfter', readDuration),
  );
  if (enclosing !== null) sources.named.ttl = 'the enclosing run';
  const values = {
    ...readLockSettings(sources),
    retries: checkedRetries(sources),
    ...checkedSharing(get('shared', readBoolean), get('slots', readSlots), args.names),
    preemptible: preemptibleOf(must('replace', readBoolean), must('supersede', readBoolean)),
    jitterMs: must('jitter', readDuration),
    stopSignal: must('signal', readSignal),
    holdAtLeastMs: must('holdAtLeast', readDuration),
    holdOn: must('holdOn', readHoldOn),
    maxWaiters: get('maxWaiters', readCount)?.value ?? null,
    notify: get('notify', readText)?.value ?? null,
    isReentrant,
    enclosing,
    url: ciJobUrl(request.environment),
    traceId: traceIdOf(request.environment),
    onLost: get('onLost', readText)?.value ?? null,
    foreground: get('foreground', readBoolean)?.value ?? null,
    ...checkedContainment(get('keepBackground', readBoolean), get('isolate', readBoolean)),
    maxRunMs: must('maxRun', readLimit),
    logFormat: must('logFormat', readLogFormat),
    reportFile: checkReportPath(args.options.report, cwd),
  };
  const masters = await readMasterSettings(sources, timings.ttlMs);
  refuseForProtocol(sources, beyondOlderProtocols(sources, args.names));
  return deepFreeze({
    names: [...args.names],
    command: [...args.command],
    ...timings,
    ...values,
    ...masters,
    warnings: [...suspicionsOf(args, request.environment), ...masters.warnings],
    verbosity: args.options.verbosity,
    sources: {
      ...masters.sources,
      ...(values.reportFile === null ? {} : { report: 'flag --report' }),
    },
  });
}

/** What a command line with several NAMEs contradicts. */
const severalNames: Place = { layer: 'flag', subject: 'several NAMEs' };

/** What was given and the older protocols do not have; null: nothing. */
function beyondOlderProtocols({ get }: Sources, names: readonly string[]): Place | null {
  const isTrue = (['shared', 'supersede', 'replace'] as const).map((key) => get(key, readBoolean));
  const slots = get('slots', readSlots);
  const chosen = [...isTrue.filter((one) => one?.value), slots?.value === 1 ? null : slots];
  const places = [names.length > 1 ? severalNames : null, ...chosen.map((one) => one?.given)];
  return places.find((place) => place) ?? null;
}

/** Words of the command that were taken for NAMEs, and the other way round: one line each. */
function suspicionsOf(
  { names, command, isSeparated }: RunArguments,
  { PATH }: NodeJS.ProcessEnv,
): string[] {
  const isProgram = (word: string) => whyCannotStart(word, PATH) === null;
  const [, second] = names;
  if (isSeparated && second !== undefined && isProgram(second)) {
    const why = 'taken for a second NAME, and is a program too';
    return [`NAME: ${quoted(second)}: ${why} (write -- before COMMAND, or this NAME first)`];
  }
  const [first = '', ...others] = command;
  if (isSeparated || isProgram(first) || !others.some(isProgram)) return [];
  const why = 'taken for COMMAND, since there is no --';
  return [`NAME: ${quoted(first)}: ${why} (write NAME NAME -- COMMAND for several)`];
}

const theEnclosingRun: Place = { layer: 'environment', subject: 'the enclosing run' };

function checkedTimings(
  ttl: { readonly value: number; readonly given: Place | null } | null,
  masterTimeout: Chosen<number> | null,
  grace: Chosen<number> | null,
): RunTimings {
  if (ttl === null) throw new TypeError('no default: ttl');
  const timings = runTimings(ttl.value, masterTimeout?.value ?? null, grace?.value ?? null);
  const danger = dangerOf(timings, true);
  if (danger === null) return timings;
  const { ttlMs, graceMs, masterTimeoutMs } = timings;
  const [ttlText, graceText, timeoutText] = [ttlMs, graceMs, masterTimeoutMs].map(renderDuration);
  const which = `ttl ${ttlText}, killAfter ${graceText}, masterTimeout ${timeoutText}`;
  const message = `${which}: ${danger} (raise ttl, or lower killAfter or masterTimeout)`;
  throw conflictOf([ttl.given, masterTimeout?.given, grace?.given], message);
}

/**
 * Of `wait` and `retryCount` the one in the layer of higher precedence counts. Both on the command
 * line are an error.
 */
function checkedRetries({ get, must }: Sources): RetrySettings | null {
  const [wait, count] = [get('wait', readWait), get('retryCount', readCount)];
  const [delayMs, jitterMs] = [must('retryDelay', readDuration), must('retryJitter', readDuration)];
  if (count === null) return null;
  if (count.layer === 'flag' && wait?.layer === 'flag')
    throw conflictOf([count.given, wait.given], 'contradict each other (leave one out)');
  const isCloser = closeness.indexOf(count.layer) >= closeness.indexOf(wait?.layer ?? null);
  return isCloser ? { count: count.value, delayMs, jitterMs } : null;
}

function checkedSharing(
  shared: Chosen<boolean> | null,
  slots: Chosen<number> | null,
  names: readonly string[],
) {
  const slotCount = slots === null || slots.layer === null ? null : slots.value;
  const isShared = shared?.value ?? false;
  if (slotCount === null || slotCount === 1)
    return { sharing: isShared ? 'shared' : 'exclusive', slotCount } as const;
  if (names.length > 1)
    throw conflictOf([slots?.given, severalNames], 'slots are for one name (leave one out)');
  if (!isShared) return { sharing: 'slots', slotCount } as const;
  const why = 'a shared lock has no limit of holders (leave one out)';
  throw conflictOf([slots?.given, shared?.given], why);
}

/** A run that may be replaced may also be superseded while it waits. */
function preemptibleOf(isReplaced: boolean, isSuperseded: boolean): Preemptible {
  if (isReplaced) return 'replace';
  return isSuperseded ? 'supersede' : 'never';
}

const closeness: readonly (LayerName | null)[] = [null, 'file', 'environment', 'flag'];

function checkedContainment(
  keepBackground: Chosen<boolean> | null,
  isolate: Chosen<boolean> | null,
) {
  const isIsolated = isolate?.value ?? false;
  const keepsBackground = keepBackground?.value ?? false;
  if (!isIsolated || !keepsBackground) return { isIsolated, keepsBackground };
  const why = 'nothing outlives its namespace (leave one out)';
  throw conflictOf([isolate?.given, keepBackground?.given], why);
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value))
    if (typeof part === 'object' && part !== null) deepFreeze(part);
  return Object.freeze(value);
}
