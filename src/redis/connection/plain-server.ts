// Whether a server to which TLS is spoken speaks the Redis protocol without it. Such a server takes
// the beginning of TLS for a command and waits for the end of its line without an answer, so that a
// wrong scheme would look like a network that drops packets. No secret is sent.

import { connect } from 'node:net';
import { type Clock, sleepAwake } from '../../lock/ports.ts';
import type { MasterAddress } from '../address.ts';

/** A server near by that speaks TLS has answered by then; one question more does no harm. */
const answerMs = 100;

/** Asks after `answerMs`, unless `over` aborts by then; resolves with false when it does. */
export async function speaksPlain(
  { host, port }: Partial<MasterAddress>,
  clock: Clock,
  over: AbortSignal,
): Promise<boolean> {
  if (host === undefined || port === undefined) return false;
  await sleepAwake(clock, answerMs, over);
  if (over.aborted) return false;
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal: over }, () => socket.write('PING\r\n'));
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
    socket.once('data', (bytes: Buffer) => {
      resolve(/^(\+PONG|-[A-Z]+ )/.test(bytes.toString('latin1', 0, 40)));
      socket.destroy();
    });
  });
}
