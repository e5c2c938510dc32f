// TLS in front of a master without TLS, like stunnel(8).

import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createSecureContext, createServer, type SecureVersion, type TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { pemFile } from './pem.ts';

export interface FrontOptions {
  /** It requires a client certificate, in this version of TLS. */
  readonly requiredVersion?: SecureVersion;
  /** Gets the server name of each connection; false: none was sent. */
  readonly names?: (string | false)[];
  /** Only a client that sends the server name localhost gets its certificate. */
  readonly isRouter?: boolean;
  /** Of a test beside others, where vitest does not know which one it is. */
  readonly onEnd?: (end: () => void) => void;
}

/** Returns the port on 127.0.0.1, until the test is over. */
export async function tlsFront(
  socketPath: string,
  { requiredVersion, names, isRouter = false, onEnd = onTestFinished }: FrontOptions = {},
): Promise<number> {
  const pem = (name: string) => readFileSync(pemFile(name));
  const open = new Set<Socket>();
  const own = { cert: pem('server.pem'), key: pem('server.key') };
  const byName: TlsOptions = {
    cert: pem('default.pem'),
    SNICallback: (name, answer) =>
      answer(null, name === 'localhost' ? createSecureContext(own) : undefined),
  };
  const server = createServer(
    {
      ...own,
      ...(isRouter ? byName : {}),
      ca: pem('ca.pem'),
      requestCert: requiredVersion !== undefined,
      rejectUnauthorized: requiredVersion !== undefined,
      ...(requiredVersion ? { minVersion: requiredVersion, maxVersion: requiredVersion } : {}),
    },
    (near) => {
      names?.push(near.servername as string | false);
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
