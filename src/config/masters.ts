// The masters for both programs: --master or --local, else REDLOCK_MASTERS or REDLOCK_LOCAL, else
// the file. *Note:* lists are not merged; the first layer that names masters decides, because half
// of one list and half of another are a quorum of neither. With no masters configured there is an
// error, and no fallback.

import { AddressError, endpointOf, type MasterAddress, parseAddress } from '../redis/address.ts';
import type { Protocol } from '../redis/keys.ts';
import { defaultRestartGraceMs } from '../redis/restart.ts';
import { ConfigError } from '../text/errors.ts';
import { quotedAddress } from '../text/foreign-text.ts';
import { type ConfigWarning, errorWith, type Given, type Layer } from './layer.ts';
import { readDefaultLogin, withLogin } from './login/credentials.ts';
import type { ValuesOf } from './setting-table.ts';
import type { Sources } from './sources.ts';

export interface MasterSettings {
  /** With their logins; empty when local. */
  readonly masters: readonly MasterAddress[];
  readonly local: boolean;
  readonly restartGraceMs: number;
  /** By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. */
  readonly sources: Readonly<Record<string, string>>;
  /** Printed with -v. */
  readonly minorWarnings: readonly ConfigWarning[];
  /** One line each, printed unless -q is given. */
  readonly warnings: readonly string[];
  /** Absolute path of the configuration file that was read. */
  readonly configFile: string | null;
}

/**
 * The masters of the first layer that names any, with their credentials.
 * @throws UsageError for a bad --master, or --master with --local; ConfigError for everything else,
 * such as no masters, or the same server twice
 */
export async function readMasterSettings(
  sources: Sources,
  values: ValuesOf<'protocol' | 'restartGrace' | 'ttl'>,
): Promise<MasterSettings> {
  const { layers, named, minorWarnings, warnings } = sources;
  const local = sources.get('local');
  for (const layer of layers) refuseBoth(layer);
  const decisive = layers.find(
    ({ name, masters }) => masters.length > 0 || name === local.given?.layer,
  );
  const isLocal = local.value && decisive?.name === local.given?.layer;
  const masters = isLocal ? [] : await readMasters(sources);
  refuseForProtocol(sources, values.protocol, isLocal ? null : masters.length);
  named.local = (isLocal === local.value && local.given?.source) || 'default';
  if (isLocal) named.restartGrace = named.local;
  const defaultGraceMs = defaultRestartGraceMs(masters, values.ttlMs);
  return {
    masters,
    local: isLocal,
    restartGraceMs: isLocal ? 0 : (values.restartGraceMs ?? defaultGraceMs),
    configFile: sources.file?.path ?? null,
    sources: named,
    minorWarnings,
    warnings,
  };
}

/** `masterCount`: null: the local ones. @throws ConfigError */
function refuseForProtocol(sources: Sources, protocol: Protocol, masterCount: number | null): void {
  if (protocol === 'redlock' || masterCount === 1) return;
  const count = masterCount === null ? 'the local ones are three' : `${masterCount} are configured`;
  const why = `is for one master, without a quorum: ${count} (configure one)`;
  const subject = sources.get('protocol').given?.subject;
  throw new ConfigError(`${subject}: ${protocol}: ${why}`);
}

const visiblePassword =
  '--master: holds a password, which every user of this machine can see ' +
  '(use passwordFile, or REDLOCK_MASTERS)';

const userAlone =
  'a user without a password (set passwordFile, or write user:password@ or :password@)';

async function readMasters(sources: Sources): Promise<MasterAddress[]> {
  const [, environment, file] = sources.layers;
  const layer = sources.layers.find(({ masters }) => masters.length > 0);
  if (layer === undefined) throw noMasters();
  sources.named.masters = layer.mastersSource;
  const count = layer.masters.length;
  if (count % 2 === 0) {
    const message = `even number of masters: ${count}: no more may fail than of ${count - 1}`;
    sources.warn({ kind: 'even-count', file: null, message, advice: 'add one or remove one' });
  }
  const login = await readDefaultLogin(environment, file, sources.warn);
  const masters: MasterAddress[] = [];
  let isVisible = false;
  for (const given of layer.masters) {
    const address = parseMaster(given);
    isVisible ||= layer.name === 'flag' && address.password !== undefined;
    const master = await withLogin(address, given, login, sources.warn);
    const hasPassword = master.password !== undefined || master.passwordSource !== undefined;
    if (master.username !== undefined && !hasPassword)
      throw errorWith(given, `${master.name}: ${userAlone}`);
    masters.push(master);
  }
  refuseDuplicates(masters, layer);
  if (isVisible) sources.warnings.push(visiblePassword);
  return masters;
}

function refuseBoth({ name, values, masters }: Layer): void {
  const given = values.local;
  if (given === undefined || given.text === 'false' || given.text === '0' || masters.length === 0)
    return;
  const why = 'given together with masters: either this machine or those (leave one out)';
  throw errorWith(
    { ...given, subject: name === 'flag' ? '--local: --master' : given.subject },
    why,
  );
}

function parseMaster(given: Given): MasterAddress {
  const { text, layer } = given;
  try {
    return parseAddress(text);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    const isList = layer === 'flag' && /^(?!(rediss?|valkeys?)\+sentinel:).*,\s*\S/is.test(text);
    const why = 'a list, and --master takes one URL (give --master once for each)';
    throw errorWith(given, isList ? `${quotedAddress(text)}: ${why}` : error.message);
  }
}

function refuseDuplicates(masters: readonly MasterAddress[], layer: Layer): void {
  const seen = new Set<string>();
  for (const [index, master] of masters.entries()) {
    const endpoint = endpointOf(master);
    if (seen.has(endpoint)) {
      const why = 'listed twice: one server cannot vote twice (remove one)';
      throw new ConfigError(`${layer.masters[index]?.subject}: ${endpoint}: ${why}`);
    }
    seen.add(endpoint);
  }
}

function noMasters(): ConfigError {
  return new ConfigError(
    'masters: none configured (list them as masters: in .redlockrc, or in REDLOCK_MASTERS ' +
      'or by --master redis://host:6379, or try --local)',
  );
}
