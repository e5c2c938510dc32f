// The settings of one run, from the command line, the environment and the configuration file, with
// the source of each value. Nothing is connected to. A mistake on the command line exits with 64,
// the same mistake in the environment or a file with 78.

import { type RunTimings, runTimings } from '../lock/timings.ts';
import type { Retries } from '../lock/wait.ts';
import { whyCannotStart } from '../run/preconditions.ts';
import { ciJobUrl, traceIdOf } from '../system/caller.ts';
import { quoted } from '../text/foreign-text.ts';
import { type EnclosingLease, enclosingLeaseOf } from '../text/held-locks.ts';
import type { RunArguments } from './arguments.ts';
import type { ExecutionContext } from './execution-context.ts';
import type { Place } from './layer.ts';
import { type MasterSettings, readMasterSettings } from './masters.ts';
import { checkReportPath } from './output-file.ts';
import { refuseContradictions, refuseTimings } from './rules.ts';
import { type SettingKey, settingKeys, type ValuesOf } from './setting-table.ts';
import { Sources } from './sources.ts';

type Values = ValuesOf<SettingKey>;

/** The values of the setting table, where defaults are computed and rules between them are kept. */
export interface Settings
  extends Omit<Values, keyof RunTimings | keyof MasterSettings>,
    RunTimings,
    MasterSettings {
  /** The locks to hold, all or none; at least one, none twice. */
  readonly names: readonly string[];
  readonly command: readonly string[];
  /** A count of retries instead of a wait; null: none. */
  readonly retries: Retries | null;
  /** The lock of the enclosing run, with --reentrant; null: the lock is to be acquired. */
  readonly enclosing: EnclosingLease | null;
  /** The page of the CI job; null: none. */
  readonly url: string | null;
  /** The trace that the run is part of: 32 hexadecimal digits; null: none. */
  readonly traceId: string | null;
  /** Absolute. */
  readonly reportFile: string | null;
  readonly verbosity: 'quiet' | 'normal' | 'verbose';
}

/**
 * Resolves each value (flag, then environment, then file, then default), and checks the values one
 * by one and together.
 * @throws UsageError (64), ConfigError (78)
 */
export async function resolveSettings(
  args: RunArguments,
  around: ExecutionContext,
): Promise<Settings> {
  const { names, command } = args;
  const { cwd, environment } = around;
  const sources = await Sources.read(args.options, around);
  const values = sources.values(settingKeys);
  const enclosing = values.isReentrant ? enclosingLeaseOf(environment, names) : null;
  const timings = timingsOf(sources, values, enclosing);
  refuseContradictions(sources, settingKeys, names);
  const reportFile = checkReportPath(args.options.report, cwd);
  const retries = retriesOf(sources, values);
  const masters = await readMasterSettings(sources, { ...values, ttlMs: timings.ttlMs });
  return {
    ...values,
    ...timings,
    ...masters,
    names: [...names],
    command: [...command],
    retries,
    retryCount: retries === null ? null : values.retryCount,
    isFenced: values.isFenced && values.protocol === 'redlock',
    enclosing,
    url: ciJobUrl(environment),
    traceId: traceIdOf(environment),
    reportFile,
    verbosity: args.options.verbosity,
    warnings: [...suspicionsOf(args, environment), ...masters.warnings],
    sources: {
      ...masters.sources,
      ...(enclosing === null ? {} : { ttl: theEnclosingRun.subject }),
      ...(reportFile === null ? {} : { report: 'flag --report' }),
    },
  };
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

/** Under the lock of the enclosing run, the ttl of that run applies. */
function timingsOf(
  sources: Sources,
  values: Pick<Values, 'ttlMs' | 'masterTimeoutMs' | 'graceMs'>,
  enclosing: EnclosingLease | null,
): RunTimings {
  const isEnclosed = enclosing !== null && enclosing.ttlMs > 0;
  const ttlMs = isEnclosed ? enclosing.ttlMs : values.ttlMs;
  const timings = runTimings(ttlMs, values.masterTimeoutMs, values.graceMs);
  refuseTimings(timings, true, [
    isEnclosed ? theEnclosingRun : sources.get('ttl').given,
    sources.get('masterTimeout').given,
    sources.get('killAfter').given,
  ]);
  return timings;
}

/** The nearer one of `wait` and `retryCount` wins. In the same layer, `retryCount` wins. */
function retriesOf(sources: Sources, values: Values): Retries | null {
  const { retryCount: count, retryDelayMs: delayMs, retryJitterMs: jitterMs } = values;
  const nearest = sources.layers.find(({ values }) => values.wait || values.retryCount);
  return count !== null && nearest?.values.retryCount ? { count, delayMs, jitterMs } : null;
}
