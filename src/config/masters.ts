// The masters, and the settings about them that both programs need: --master or --local, else
// REDLOCK_MASTERS or REDLOCK_LOCAL, else the file. *Note:* lists are not merged; the first layer
// that names masters decides, because half of one list and half of another are a quorum of neither.
// With no masters configured there is an error, and no fallback.

import { resolve } from 'node:path';
import { AddressError, endpointOf, type MasterAddress, parseAddress } from '../redis/address.ts';
import type { ServerSettings } from '../redis/connected-server.ts';
import type { Reaction } from '../redis/masters-watch.ts';
import { usualRestartGraceMs } from '../redis/restart.ts';
import { ConfigError, UsageError } from '../text/errors.ts';
import { quotedAddress } from '../text/foreign-text.ts';
import type { Layer, LayerName } from './layer.ts';
import { logIn, readDefaultLogin } from './login/credentials.ts';
import type { MasterEntry } from './schema.ts';
import { choose, errorWith, type MasterSources, type Sources } from './sources.ts';
import {
  readBoolean,
  readBytes,
  readDuration,
  readProtocol,
  readReaction,
  readText,
} from './values.ts';
import type { ConfigWarning } from './warning.ts';

/** *Invariant:* the settings of each master, whole: no program picks some of them. */
export interface MasterSettings extends ServerSettings {
  /** Empty when local. */
  readonly masters: readonly MasterAddress[];
  readonly local: boolean;
  /** Where another host has used masters that could grant the lock beside ours. */
  readonly differingMasters: Reaction;
  /** Absolute; null means the default directory. */
  readonly localDirectory: string | null;
  /** Absolute path of the configuration file that was read. */
  readonly configFile: string | null;
  /** By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. */
  readonly sources: Readonly<Record<string, string>>;
  /** Printed with -v. */
  readonly minorWarnings: readonly ConfigWarning[];
  /** One line each, printed unless -q is given. */
  readonly warnings: readonly string[];
}

/** @throws UsageError (64), ConfigError (78) */
export async function readMasterSettings(sources: Sources, ttlMs: number): Promise<MasterSettings> {
  const prefix = sources.must('prefix', readText);
  const directory = sources.get('localDirectory', readText)?.given ?? null;
  const chosen = await chooseMasters(sources.ofMasters);
  const usualMs = usualRestartGraceMs(chosen.masters, ttlMs);
  const restartGraceMs = sources.get('restartGrace', readDuration)?.value ?? usualMs;
  const protocol = sources.must('protocol', readProtocol);
  const where = sources.get('protocol', readProtocol)?.given?.subject;
  const count = chosen.local
    ? 'the local ones are three'
    : `${chosen.masters.length} are configured`;
  if (protocol !== 'redlock' && chosen.masters.length !== 1) {
    throw new ConfigError(
      `${where}: ${protocol}: is for one master, without a quorum: ${count} (configure one)`,
    );
  }
  return {
    prefix,
    protocol,
    differingMasters: sources.must('differingMasters', readReaction),
    historyBytes: sources.must('historyBytes', readBytes),
    localDirectory: directory === null ? null : resolve(directory.base, directory.text),
    restartGraceMs: chosen.local ? 0 : restartGraceMs,
    masters: chosen.masters,
    local: chosen.local,
    configFile: sources.file?.path ?? null,
    sources: { ...sources.named, ...chosen.sources },
    minorWarnings: [...(sources.file?.minorWarnings ?? []), ...chosen.minorWarnings],
    warnings: [...sources.warnings, ...chosen.warnings],
  };
}

export interface ChosenMasters {
  readonly local: boolean;
  /** Empty when local. */
  readonly masters: readonly MasterAddress[];
  readonly sources: Readonly<Record<string, string>>;
  /** Settings that should be corrected one day. */
  readonly minorWarnings: readonly ConfigWarning[];
  /** Settings that should be corrected now: one line each. */
  readonly warnings: readonly string[];
}

const visiblePassword =
  '--master: holds a password, which every user of this machine can see ' +
  '(use passwordFile, or REDLOCK_MASTERS)';

const userAlone =
  'a user without a password (set passwordFile, or write user:password@ or :password@)';

/** The masters of one layer. */
interface Stage {
  readonly layer: LayerName;
  readonly values: Layer;
  readonly source: string;
  readonly list: readonly { readonly entry: MasterEntry; readonly subject: string }[];
  readonly base: string;
}

/**
 * The masters of the first layer that names any, with their credentials.
 * @throws UsageError for a bad --master, or --master with --local; ConfigError for everything else,
 * such as no masters, or the same server twice
 */
async function chooseMasters(from: MasterSources): Promise<ChosenMasters> {
  const stages = stagesOf(from);
  const said = choose(
    stages.map((stage) => stage.values),
    'local',
    readBoolean,
  );
  for (const stage of stages) refuseBoth(stage);
  const decisive = stages.find((stage) => stage.list.length > 0 || stage.layer === said?.layer);
  const isLocal = said?.value === true && decisive?.layer === said.layer;
  if (isLocal)
    return {
      local: true,
      masters: [],
      sources: { local: said.source, restartGrace: said.source },
      minorWarnings: [],
      warnings: [],
    };
  const stage = stages.find((candidate) => candidate.list.length > 0);
  if (stage === undefined) throw noMasters();
  const warnings = evenness(stage.list.length);
  const warn = (warning: ConfigWarning) => {
    const { file } = warning; // A file may serve several masters.
    if (!warnings.some((one) => one.file === file && one.kind === warning.kind))
      warnings.push(warning);
  };
  const login = await readDefaultLogin(
    {
      layers: [from.environment, from.file?.layer ?? new Map()],
      tls: from.file?.tls ?? null,
      tlsVariables: from.tlsVariables,
      base: from.fileBase,
    },
    warn,
  );
  const masters: MasterAddress[] = [];
  let isVisible = false;
  for (const { entry, subject } of stage.list) {
    const address = parseEntry(entry, stage.layer, subject);
    isVisible ||= stage.layer === 'flag' && address.password !== undefined;
    const master = await logIn(address, entry, login, stage.base, warn, subject);
    const hasPassword = master.password !== undefined || master.passwordSource !== undefined;
    if (master.username !== undefined && !hasPassword) {
      throw errorWith({ layer: stage.layer, subject }, `${master.name}: ${userAlone}`);
    }
    masters.push(master);
  }
  refuseDuplicates(masters, stage);
  const local = said?.value === false ? said.source : 'default';
  return {
    local: false,
    masters,
    sources: { ...login.sources, masters: stage.source, local },
    minorWarnings: warnings,
    warnings: isVisible ? [visiblePassword] : [],
  };
}

function stagesOf(from: MasterSources): Stage[] {
  const listed = (texts: readonly string[], subject: string) =>
    texts.map((url) => ({ entry: { url }, subject }));
  const variable = from.variable === undefined ? [] : urlsIn(from.variable);
  return [
    {
      layer: 'flag',
      values: from.options,
      source: 'flag --master',
      list: listed(from.masterOptions, '--master'),
      base: from.cwd,
    },
    {
      layer: 'environment',
      values: from.environment,
      source: 'environment REDLOCK_MASTERS',
      list: listed(variable, 'REDLOCK_MASTERS'),
      base: from.cwd,
    },
    {
      layer: 'file',
      values: from.file?.layer ?? new Map(),
      source: from.file?.masters?.source ?? '',
      list: from.file?.masters?.entries ?? [],
      base: from.fileBase,
    },
  ];
}

/** The URLs of a list; one of sentinels reaches to the first comma after its /NAME. */
function urlsIn(list: string): string[] {
  const urls: string[] = [];
  for (let rest = list; rest !== ''; ) {
    const [, start = ''] = /^(\s*(?:rediss?|valkeys?)\+sentinel:\/\/[^/]*)/i.exec(rest) ?? [];
    const comma = rest.indexOf(',', start.length);
    urls.push((comma < 0 ? rest : rest.slice(0, comma)).trim());
    if (comma < 0) break;
    rest = rest.slice(comma + 1);
    if (rest === '') urls.push('');
  }
  return urls;
}

function refuseBoth({ layer, values, list }: Stage): void {
  const given = values.get('local');
  if (given === undefined || given.text === 'false' || given.text === '0' || list.length === 0)
    return;
  const why = 'given together with masters: either this machine or those (leave one out)';
  throw layer === 'flag'
    ? new UsageError(`--local: --master: ${why}`)
    : new ConfigError(`${given.subject}: ${why}`);
}

function parseEntry(entry: MasterEntry, layer: LayerName, subject: string): MasterAddress {
  try {
    return parseAddress(entry.url);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    const isList =
      layer === 'flag' && /^(?!(rediss?|valkeys?)\+sentinel:).*,\s*\S/is.test(entry.url);
    const why = 'a list, and --master takes one URL (give --master once for each)';
    const message = isList ? `${quotedAddress(entry.url)}: ${why}` : error.message;
    throw errorWith({ layer, subject }, message);
  }
}

function refuseDuplicates(masters: readonly MasterAddress[], { list }: Stage): void {
  const seen = new Set<string>();
  for (const [index, master] of masters.entries()) {
    const endpoint = endpointOf(master);
    if (seen.has(endpoint)) {
      const why = 'listed twice: one server cannot vote twice (remove one)';
      throw new ConfigError(`${list[index]?.subject}: ${endpoint}: ${why}`);
    }
    seen.add(endpoint);
  }
}

function evenness(length: number): ConfigWarning[] {
  if (length % 2 === 1) return [];
  const message = `even number of masters: ${length}: no more may fail than of ${length - 1}`;
  return [{ kind: 'even-count', file: null, message, advice: 'add one or remove one' }];
}

function noMasters(): ConfigError {
  return new ConfigError(
    'masters: none configured (list them as masters: in .redlockrc, or in REDLOCK_MASTERS ' +
      'or by --master redis://host:6379, or try --local)',
  );
}
