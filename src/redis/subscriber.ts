// A second connection on which one waiter hears that it is its turn, for servers that do not speak
// RESP3 (before Redis 6); with others one connection serves for both, see connection.ts. It is
// never mended: a waiter polls once a second anyway, so a call that is lost costs a second and
// nothing else.

import type { Ear, Failed } from '../lock/ports.ts';
import { type Origin, openClient } from './client.ts';
import { failedBy, isFailed } from './trouble.ts';

/** Resolves when the server has confirmed that calls on these channels will be heard from now on. */
export async function listenApart(
  origin: Origin,
  channels: readonly string[],
  onCall: () => void,
): Promise<Ear | Failed> {
  const opened = await openClient(origin);
  if (isFailed(opened)) return opened;
  const { client, access } = opened;
  try {
    const refused = await access;
    if (refused) throw refused;
    client.on('message', onCall);
    await client.subscribe(...channels);
    return { close: () => client.disconnect() };
  } catch (error) {
    client.disconnect();
    return isFailed(error) ? error : failedBy(error);
  }
}
