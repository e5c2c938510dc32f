// Which masters, and what is asked of them: the settings that both programs share. What a run
// needs besides is settings.ts. The restart grace depends on the ttl, so a program that only
// looks must know the ttl of those that lock.

import { resolve } from 'node:path';
import type { MasterAddress } from '../redis/address.ts';
import type { Protocol } from '../redis/protocol.ts';
import type { Sources } from './sources.ts';
import { ConfigError } from './trouble.ts';
import { readDuration, readProtocol, readText } from './values.ts';

export interface MasterSettings {
  /** Empty when local. */
  readonly masters: readonly MasterAddress[];
  readonly local: boolean;
  /** Absolute; null means the usual place. */
  readonly localDirectory: string | null;
  /** May be empty. */
  readonly prefix: string;
  readonly protocol: Protocol;
  /** How long a master that restarted, and may have forgotten locks, does not vote. */
  readonly restartGraceMs: number;
  /** Absolute path of the configuration file that was read. */
  readonly configFile: string | null;
  /** By key: `flag --ttl`, `environment REDLOCK_TTL`, `/etc/redlockrc:3`, `default`. */
  readonly sources: Readonly<Record<string, string>>;
  /** One line each, for -v. */
  readonly warnings: readonly string[];
  /** One line each, for everyone who has not said -q. */
  readonly cautions: readonly string[];
}

/** @throws UsageError (64), ConfigError (78) */
export async function readMasterSettings(sources: Sources, ttlMs: number): Promise<MasterSettings> {
  const prefix = sources.must('prefix', readText);
  const directory = sources.get('localDirectory', readText)?.given ?? null;
  const chosen = await sources.masters();
  // With fewer masters there is no majority that could go on without the one that restarted.
  const restartGraceMs = chosen.masters.length < 3 ? 0 : ttlMs;
  const protocol = sources.must('protocol', readProtocol);
  const count = chosen.local ? 'the local ones are three' : `${chosen.masters.length} are configured`;
  if (protocol !== 'redlock' && chosen.masters.length !== 1) {
    throw new ConfigError(`protocol: ${protocol}: is for one master, without a quorum: ${count} (configure one)`);
  }
  return {
    prefix,
    protocol,
    localDirectory: directory === null ? null : resolve(directory.base, directory.text),
    restartGraceMs: sources.get('restartGrace', readDuration)?.value ?? restartGraceMs,
    masters: chosen.masters,
    local: chosen.local,
    configFile: sources.file?.path ?? null,
    sources: { ...sources.named, ...chosen.sources },
    warnings: [...(sources.file?.warnings ?? []), ...chosen.warnings],
    cautions: [...sources.cautions, ...chosen.cautions],
  };
}
