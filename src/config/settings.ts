// Everything that one run needs to know, from the command line, the environment and the files:
// decided once, frozen, with the source of each value. It connects to nothing. A mistake on the
// command line exits with 64, the same in the environment or a file with 78.

import { dangerOf, type RunTimings, runTimings } from '../lock/timings.ts';
import type { EnclosingLease, Yields } from '../lock/types.ts';
import type { Retries } from '../lock/wait.ts';
import { enclosingLeaseOf } from '../run/held.ts';
import { renderDuration } from '../text/duration.ts';
import { ConfigError, UsageError } from '../text/errors.ts';
import type { RunWords } from './arguments.ts';
import type { LayerName } from './keys.ts';
import { type MasterSettings, readMasterSettings } from './masters.ts';
import { checkReportPath } from './report-file.ts';
import { type Chosen, Sources, type Surroundings } from './sources.ts';
import {
  readBoolean,
  readCount,
  readDuration,
  readLimit,
  readLogFormat,
  readPatience,
  readPositiveDuration,
  readSignal,
  readSlots,
  readStatus,
  readText,
  readTtl,
} from './values.ts';

export interface Settings extends RunTimings, MasterSettings {
  /** What is held, all of it or nothing; at least one, none twice. */
  readonly names: readonly string[];
  readonly command: readonly string[];
  /** How long to go on when no quorum answers. */
  readonly giveUpAfterMs: number;
  readonly sharing: 'exclusive' | 'shared' | 'slots';
  /** More than 1 with slots, else 1. */
  readonly slotCount: number;
  readonly yields: Yields;
  /** Null is for ever, 0 is one attempt. */
  readonly waitMs: number | null;
  /** Instead of a wait; null: there is none. */
  readonly retries: Retries | null;
  /** 0 to 255. */
  readonly conflictExitCode: number;
  readonly jitterMs: number;
  readonly stopSignal: NodeJS.Signals;
  readonly holdAtLeastMs: number;
  readonly isFenced: boolean;
  readonly isReentrant: boolean;
  /** The lock of a run around this one, to go on under; null: the lock is to be acquired. */
  readonly outer: EnclosingLease | null;
  /** Whether the run leaves a line in the history of the lock. */
  readonly hasHistory: boolean;
  /** A shell command, or null. */
  readonly onLost: string | null;
  /** Null: as the terminal says. */
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

export interface SettingsRequest extends Surroundings {
  readonly words: RunWords;
}

/**
 * Flag, then environment, then file, then default; checked one by one and together, before anything is connected to.
 * @throws UsageError (64), ConfigError (78)
 */
export async function resolveSettings(request: SettingsRequest): Promise<Settings> {
  const { words, cwd } = request;
  const sources = await Sources.read(words.flags, request);
  const { get, must } = sources;
  const isReentrant = must('reentrant', readBoolean);
  const outer = isReentrant ? enclosingLeaseOf(request.environment, words.names) : null;
  // Under the lock of another run its ttl counts, whatever ours says.
  const timings = checkedTimings(
    get('ttl', outer && outer.ttlMs > 0 ? () => outer.ttlMs : readTtl),
    get('masterTimeout', readPositiveDuration),
    get('killAfter', readDuration),
  );
  if (outer !== null) sources.named.ttl = 'the run around this one';
  const values = {
    giveUpAfterMs: must('giveUpAfter', readDuration),
    ...checkedPatience(sources),
    ...checkedSharing(get('shared', readBoolean), get('slots', readSlots), words.names),
    yields: yieldsOf(must('replace', readBoolean), must('supersede', readBoolean)),
    conflictExitCode: must('conflictExitCode', readStatus),
    jitterMs: must('jitter', readDuration),
    stopSignal: must('signal', readSignal),
    holdAtLeastMs: must('holdAtLeast', readDuration),
    isFenced: must('fencing', readBoolean),
    isReentrant,
    outer,
    hasHistory: must('history', readBoolean),
    onLost: get('onLost', readText)?.value ?? null,
    foreground: get('foreground', readBoolean)?.value ?? null,
    ...checkedContainment(get('keepBackground', readBoolean), get('isolate', readBoolean)),
    maxRunMs: must('maxRun', readLimit),
    logFormat: must('logFormat', readLogFormat),
    reportFile: checkReportPath(words.flags.report, cwd),
  };
  const masters = await readMasterSettings(sources, timings.ttlMs);
  const isOld = masters.protocol !== 'redlock';
  if (
    isOld &&
    (words.names.length > 1 || values.sharing !== 'exclusive' || values.yields !== 'never')
  ) {
    throw new UsageError(
      `protocol: ${masters.protocol}: knows one lock, held alone (leave out other names, --shared, --slots, --supersede and --replace)`,
    );
  }
  return deepFreeze({
    names: [...words.names],
    command: [...words.command],
    ...timings,
    ...values,
    isFenced: values.isFenced && !isOld,
    ...masters,
    verbosity: words.flags.verbosity,
    sources: {
      ...masters.sources,
      ...(values.reportFile === null ? {} : { report: 'flag --report' }),
    },
  });
}

function checkedTimings(
  ttl: Chosen<number> | null,
  masterTimeout: Chosen<number> | null,
  grace: Chosen<number> | null,
): RunTimings {
  if (ttl === null) throw new TypeError('no default: ttl');
  const timings = runTimings(ttl.value, masterTimeout?.value ?? null, grace?.value ?? null);
  const danger = dangerOf(timings);
  if (danger === null) return timings;
  const { ttlMs, graceMs, masterTimeoutMs } = timings;
  const [ttlText, graceText, timeoutText] = [ttlMs, graceMs, masterTimeoutMs].map(renderDuration);
  const which = `timings: ttl ${ttlText}, killAfter ${graceText}, masterTimeout ${timeoutText}`;
  const message = `${which}: ${danger} (raise ttl, or lower killAfter or masterTimeout)`;
  throw mistakeIn([ttl, masterTimeout, grace], message);
}

/**
 * Of a wait and a count of retries the one said closer to the command counts; both on the command
 * line is an error.
 */
function checkedPatience({ get, must }: Sources): {
  waitMs: number | null;
  retries: Retries | null;
} {
  const waitMs = must('wait', readPatience);
  const [wait, count] = [get('wait', readPatience), get('retryCount', readCount)];
  const [delayMs, jitterMs] = [must('retryDelay', readDuration), must('retryJitter', readDuration)];
  if (count === null) return { waitMs, retries: null };
  if (count.layer === 'flag' && wait?.layer === 'flag') {
    throw new UsageError(
      `--retry-count: with ${wait.given?.subject}: contradict each other (leave one out)`,
    );
  }
  const isCloser = closeness.indexOf(count.layer) >= closeness.indexOf(wait?.layer ?? null);
  return { waitMs, retries: isCloser ? { count: count.value, delayMs, jitterMs } : null };
}

function checkedSharing(
  shared: Chosen<boolean> | null,
  slots: Chosen<number> | null,
  names: readonly string[],
) {
  const slotCount = slots?.value ?? 1;
  const isShared = shared?.value ?? false;
  if (slotCount === 1) return { sharing: isShared ? 'shared' : 'exclusive', slotCount } as const;
  if (names.length > 1)
    throw new UsageError('slots: with several names: all or nothing of what? (leave one out)');
  if (!isShared) return { sharing: 'slots', slotCount } as const;
  throw mistakeIn(
    [shared, slots],
    'slots: with shared: any number of holders, or so many? (leave one out)',
  );
}

/** A run that may be replaced may also be superseded while it waits. */
function yieldsOf(isReplaced: boolean, isSuperseded: boolean): Yields {
  return isReplaced ? 'lock' : isSuperseded ? 'place' : 'never';
}

const closeness: readonly (LayerName | null)[] = [null, 'file', 'environment', 'flag'];

function checkedContainment(
  keepBackground: Chosen<boolean> | null,
  isolate: Chosen<boolean> | null,
) {
  const isIsolated = isolate?.value ?? false;
  const keepsBackground = keepBackground?.value ?? false;
  if (!isIsolated || !keepsBackground) return { isIsolated, keepsBackground };
  const why = 'isolate: with keepBackground: nothing outlives its namespace (leave one out)';
  throw mistakeIn([isolate, keepBackground], why);
}

/** Values that cannot be together: exit 64 when a flag has a part in it, else 78. */
function mistakeIn(
  values: readonly (Chosen<unknown> | null)[],
  why: string,
): UsageError | ConfigError {
  const isFromFlag = values.some((chosen) => chosen?.layer === 'flag');
  return isFromFlag ? new UsageError(why) : new ConfigError(why);
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value))
    if (typeof part === 'object' && part !== null) deepFreeze(part);
  return Object.freeze(value);
}
