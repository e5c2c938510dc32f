// Passwords that commands print, before the first connection needs them.

import { ConfigError } from '../text/errors.ts';
import type { MasterAddress } from './address.ts';
import { isFailed } from './errors.ts';

/**
 * Runs the commands that print passwords, each once, so that the first attempt has them.
 * @throws ConfigError when one of them fails
 */
export async function readPasswords(addresses: readonly MasterAddress[]): Promise<void> {
  const sources = new Set(addresses.flatMap(({ passwordSource }) => passwordSource ?? []));
  const passwords = await Promise.all([...sources].map((source) => source.password()));
  const failure = passwords.find(isFailed);
  if (failure !== undefined) throw new ConfigError(failure.message);
}
