// Whether a server to which TLS is spoken speaks the Redis protocol without it. A real one says
// nothing then: it takes the beginning of TLS for a command and waits for the end of its line, so
// that a wrong scheme would look like a network that drops packets. No secret is sent.

import { connect } from 'node:net';
import type { MasterAddress } from '../address.ts';

/** A server that speaks TLS has answered by then, as a rule; a look more does no harm. */
const patientMs = 400;

/** Asks only when `over` has not aborted for so long. Resolves with false when it does. */
export function speaksPlain({ host, port }: MasterAddress, over: AbortSignal): Promise<boolean> {
  if (host === undefined || port === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    let ask = () => {};
    const timer = setTimeout(() => ask(), patientMs);
    const end = (isPlain: boolean) => {
      clearTimeout(timer);
      resolve(isPlain);
    };
    over.addEventListener('abort', () => end(false), { once: true });
    ask = () => {
      const socket = connect({ host, port, signal: over }, () => socket.write('PING\r\n'));
      socket.on('error', () => end(false));
      socket.on('close', () => end(false));
      socket.once('data', (bytes: Buffer) => {
        end(/^(\+PONG|-[A-Z]+ )/.test(bytes.toString('latin1', 0, 40)));
        socket.destroy();
      });
    };
  });
}
