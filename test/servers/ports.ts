// TCP ports for servers of tests. A server that has ended, or has not begun, must refuse, whatever
// starts in the other test files meanwhile: its port is never given twice. *Note:* the kernel hands
// out ports from 32,768 on (49,152 on a Mac), to a proxy or a client as well. A node of a cluster
// listens 10,000 above its port too. An address that always refuses is 127.0.0.1:1, or :2, or :3.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

const lowest = 20_000;
const highest = 22_767;

/** A TCP port that no other call gets, in any test process, until this process ends. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const port = randomInt(lowest, highest + 1);
    if ((await isClaimed(port)) && (await isFree(port))) return port;
  }
  throw new Error(`no free port from ${lowest} to ${highest}`);
}

/** Binds a UDP socket to the number: only one process can, and the kernel ends it with us. */
function isClaimed(port: number): Promise<boolean> {
  const claim = createSocket('udp4').unref();
  return new Promise((resolve) => {
    claim.once('error', () => claim.close(() => resolve(false)));
    claim.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
