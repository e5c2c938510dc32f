// TLS in front of a master without TLS, like stunnel(8).

import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer, type SecureVersion } from 'node:tls';
import { onTestFinished } from 'vitest';
import { pemFile } from './pem.ts';

/**
 * Returns the port on 127.0.0.1, until the test is over; with a version it requires a client
 * certificate. `onEnd`: of a test beside others, where vitest does not know which one it is.
 */
export async function tlsFront(
  socketPath: string,
  requiredVersion: SecureVersion | null = null,
  onEnd: (end: () => void) => void = onTestFinished,
): Promise<number> {
  const pem = (name: string) => readFileSync(pemFile(name));
  const open = new Set<Socket>();
  const server = createServer(
    {
      cert: pem('server.pem'),
      key: pem('server.key'),
      ca: pem('ca.pem'),
      requestCert: requiredVersion !== null,
      rejectUnauthorized: requiredVersion !== null,
      ...(requiredVersion ? { minVersion: requiredVersion, maxVersion: requiredVersion } : {}),
    },
    (near) => {
      const far = connect(socketPath);
      for (const [one, another] of [
        [near, far],
        [far, near],
      ] as const) {
        open.add(one);
        one.on('error', () => another.destroy()).on('close', () => another.destroy());
        one.pipe(another);
      }
    },
  );
  server.on('tlsClientError', () => {}); // The client has the error that counts.
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
