// A slow network: proxies in front of unix sockets that pass every byte on so many ms later, half
// of them in each direction. It is a program of its own, so that it takes no time from the programs
// that are measured. A timer of Node fires up to a ms late, so the delay that is measured is
// reported, not the requested one.

import { connect, createServer, type Socket } from 'node:net';

const [delayMs = '0', ...pairs] = process.argv.slice(2);
const oneWayMs = Number(delayMs) / 2;

/** One direction: first in, first out, because equal timers of Node fire in order. */
function pass(from: Socket, to: Socket): void {
  from.on('data', (bytes) => setTimeout(() => to.destroyed || to.write(bytes), oneWayMs));
  from.on('error', () => {}); // 'close' follows.
  from.on('close', () => to.destroy());
}

let listeningCount = 0;
for (let index = 0; index < pairs.length; index += 2) {
  const [target = '', path = ''] = pairs.slice(index, index + 2);
  const server = createServer((client) => {
    const master = connect(target);
    pass(client, master);
    pass(master, client);
  });
  server.listen(path, () => {
    listeningCount += 1;
    if (listeningCount * 2 === pairs.length) process.stdout.write('ready\n');
  });
}
// The parent process has ended when stdin ends.
process.stdin.on('end', () => process.exit(0)).resume();
