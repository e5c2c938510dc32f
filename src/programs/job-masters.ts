// The masters of one job: those in the settings, or this user's own on this machine.

import type { Settings } from '../config/settings.ts';
import { type MasterAddress, parseAddress } from '../redis/address.ts';
import { readPasswords } from '../redis/passwords.ts';

export interface JobMasters {
  readonly addresses: readonly MasterAddress[];
  /** Why later runs would not find these masters but others; null: they would. */
  readonly replaced: () => string | null;
}

/** Starts the local masters that are missing. Throws LocalError, ConfigError. */
export async function mastersOf(settings: Settings): Promise<JobMasters> {
  if (!settings.local) {
    await readPasswords(settings.masters);
    return { addresses: settings.masters, replaced: () => null };
  }
  const { startLocalMasters } = await import('../local/local-masters.ts');
  const { rememberServers } = await import('../local/same-servers.ts');
  const directory = settings.localDirectory;
  const sockets = await startLocalMasters({ directory, environment: process.env });
  const replaced = rememberServers(sockets);
  const addresses = sockets.map((socket) => parseAddress(`unix://${encodeURI(socket)}`));
  return { addresses, replaced };
}
