// Where the masters of the settings are.

import { localMasters } from '../local/local-masters.ts';
import { localAddress, type MasterAddress, readPasswords } from '../redis/address.ts';
import type { CtlSettings } from './settings.ts';

/**
 * The masters of the settings, and the local ones that are running. Throws LocalError,
 * ConfigError.
 */
export async function addressesOf(settings: CtlSettings): Promise<MasterAddress[]> {
  await readPasswords(settings.masters);
  const own = settings.local ? await localMasters(settings.localDirectory) : [];
  return [...settings.masters, ...own.map(({ socket }) => localAddress(socket))];
}
