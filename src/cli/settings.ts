// Everything that one run needs to know, from the words, the environment and the files: decided once, frozen, with the source of
// each value. It connects to nothing. The surprise: mistakes of the same kind exit differently by where they were made: on the
// command line 64, in the environment or a file 78.

import { dirname, resolve } from 'node:path';
import type { MasterAddress } from '../redis/address.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { findConfigFile } from './config-search.ts';
import type { Flags } from './flags.ts';
import { type Chosen, choose, environmentLayer, type Given, type Layer } from './layers.ts';
import { chooseMasters } from './masters.ts';
import { isScalarKey, keyTable, type ScalarKey } from './option-table.ts';
import type { RunWords } from './options.ts';
import { checkReportPath } from './report-path.ts';
import { dangerOf, deriveTimings, type Timings } from './timings.ts';
import { ConfigError, UsageError } from './trouble.ts';
import {
  readBoolean,
  readDuration,
  readLimit,
  readLogFormat,
  readPatience,
  readPositiveDuration,
  readSignal,
  readStatus,
  readText,
  readTtl,
} from './values.ts';

export interface Settings extends Timings {
  readonly name: string;
  readonly command: readonly string[];
  /** Empty when local. */
  readonly masters: readonly MasterAddress[];
  readonly local: boolean;
  /** Absolute; null means the usual place. */
  readonly localDirectory: string | null;
  /** May be empty. */
  readonly prefix: string;
  /** How long to go on when no quorum answers. */
  readonly giveUpAfterMs: number;
  /** Null is for ever, 0 is one attempt. */
  readonly waitMs: number | null;
  /** 0 to 255. */
  readonly conflictExitCode: number;
  readonly jitterMs: number;
  readonly stopSignal: NodeJS.Signals;
  readonly holdAtLeastMs: number;
  /** How long a master that restarted, and may have forgotten locks, does not vote. */
  readonly restartGraceMs: number;
  readonly isFenced: boolean;
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
  /** Absolute path of the configuration file that was read. */
  readonly configFile: string | null;
  /** By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. */
  readonly sources: Readonly<Record<string, string>>;
  /** One line each, for -v. */
  readonly warnings: readonly string[];
}

export interface SettingsRequest {
  readonly words: RunWords;
  readonly environment: NodeJS.ProcessEnv;
  readonly cwd: string;
  /** $HOME; where ~/.redlockrc is looked for. */
  readonly home: string | undefined;
  /** The last place to look for a configuration: /etc/redlockrc unless a test says otherwise. */
  readonly systemConfigFile?: string;
}

const scalarKeys: readonly ScalarKey[] = keyTable.map((row) => row.key).filter(isScalarKey);

/**
 * Flag, then environment, then file, then default; checked one by one and together, before anything is connected to.
 * @throws UsageError (64), ConfigError (78)
 */
export async function resolveSettings(request: SettingsRequest): Promise<Settings> {
  const { words, environment, cwd } = request;
  const flags = flagLayer(words.flags, cwd);
  const variables = environmentLayer(scalarKeys, environment, cwd);
  const file = await loadFile(request);
  const layers = [flags, variables, file?.layer ?? new Map()];
  const sources: Record<string, string> = {};
  const get = <Value>(key: ScalarKey, read: (text: string) => Value) => {
    const chosen = choose(layers, key, read);
    sources[key] = chosen?.source ?? 'default';
    return chosen;
  };
  const must = <Value>(key: ScalarKey, read: (text: string) => Value): Value => {
    const chosen = get(key, read);
    if (chosen === null) throw new TypeError(`no default: ${key}`);
    return chosen.value;
  };

  const timings = checkedTimings(
    get('ttl', readTtl),
    get('masterTimeout', readPositiveDuration),
    get('killAfter', readDuration),
  );
  const values = {
    prefix: must('prefix', readText),
    giveUpAfterMs: must('giveUpAfter', readDuration),
    waitMs: must('wait', readPatience),
    conflictExitCode: must('conflictExitCode', readStatus),
    jitterMs: must('jitter', readDuration),
    stopSignal: must('signal', readSignal),
    holdAtLeastMs: must('holdAtLeast', readDuration),
    isFenced: must('fencing', readBoolean),
    onLost: get('onLost', readText)?.value ?? null,
    foreground: get('foreground', readBoolean)?.value ?? null,
    ...checkedContainment(get('keepBackground', readBoolean), get('isolate', readBoolean)),
    maxRunMs: must('maxRun', readLimit),
    logFormat: must('logFormat', readLogFormat),
    localDirectory: absolute(get('localDirectory', readText)?.given ?? null),
    reportFile: checkReportPath(words.flags.report, cwd),
  };
  const chosen = await chooseMasters({
    flags,
    masterFlags: words.flags.masters,
    environment: variables,
    variable: environment.REDLOCK_MASTERS,
    file,
    fileBase: file === null ? cwd : dirname(file.path),
    cwd,
  });
  // With fewer masters there is no majority that could go on without the one that restarted.
  const restartGraceMs = chosen.masters.length < 3 ? 0 : timings.ttlMs;
  return deepFreeze({
    name: words.name,
    command: [...words.command],
    ...timings,
    ...values,
    restartGraceMs: get('restartGrace', readDuration)?.value ?? restartGraceMs,
    masters: chosen.masters,
    local: chosen.local,
    verbosity: words.flags.verbosity,
    configFile: file?.path ?? null,
    sources: { ...sources, ...chosen.sources, ...(values.reportFile === null ? {} : { report: 'flag --report' }) },
    warnings: [...(file?.warnings ?? []), ...chosen.warnings],
  });
}

function flagLayer(flags: Flags, cwd: string): Layer {
  const layer = new Map<ScalarKey, Given>();
  for (const [key, { text, option }] of flags.values) {
    layer.set(key, { text, layer: 'flag', source: `flag ${option}`, subject: option, base: cwd });
  }
  return layer;
}

async function loadFile({
  words,
  environment,
  cwd,
  home,
  systemConfigFile,
}: SettingsRequest): Promise<ConfigFile | null> {
  const found = findConfigFile({
    flag: words.flags.config,
    variable: environment.REDLOCK_CONFIG,
    cwd,
    home,
    systemFile: systemConfigFile ?? '/etc/redlockrc',
  });
  return found === null ? null : readConfigFile(found, environment);
}

/** Exit 64 when a flag has a part in it, else 78. */
function checkedTimings(
  ttl: Chosen<number> | null,
  masterTimeout: Chosen<number> | null,
  grace: Chosen<number> | null,
): Timings {
  if (ttl === null) throw new TypeError('no default: ttl');
  const timings = deriveTimings(ttl.value, masterTimeout?.value ?? null, grace?.value ?? null);
  const danger = dangerOf(timings);
  if (danger === null) return timings;
  const isFromFlag = [ttl, masterTimeout, grace].some((chosen) => chosen?.layer === 'flag');
  throw isFromFlag ? new UsageError(danger) : new ConfigError(danger);
}

/** Exit 64 when a flag has a part in it, else 78. */
function checkedContainment(keepBackground: Chosen<boolean> | null, isolate: Chosen<boolean> | null) {
  const isIsolated = isolate?.value ?? false;
  const keepsBackground = keepBackground?.value ?? false;
  if (!isIsolated || !keepsBackground) return { isIsolated, keepsBackground };
  const contradiction = 'isolate: with keepBackground: nothing outlives its namespace (leave one out)';
  const isFromFlag = [isolate, keepBackground].some((chosen) => chosen?.layer === 'flag');
  throw isFromFlag ? new UsageError(contradiction) : new ConfigError(contradiction);
}

function absolute(given: Given | null): string | null {
  return given === null ? null : resolve(given.base, given.text);
}

function deepFreeze<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFreeze(part);
  return Object.freeze(value);
}
