// A network of its own: proxies in front of unix sockets that pass every byte on so many ms later, half of them on the way there and
// half on the way back. A program of its own, so that it takes no time from whoever is measured. It loses nothing and knows nothing
// of Redis. The surprise: a timer of Node fires up to a ms late, so the delay that is measured is told, not the one that was asked.

import { connect, createServer, type Socket } from 'node:net';

const [delayMs = '0', ...pairs] = process.argv.slice(2);
const oneWayMs = Number(delayMs) / 2;

/** One direction: what comes first leaves first, because equal timers of Node fire in order. */
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
// Whoever started us has gone when stdin ends.
process.stdin.on('end', () => process.exit(0)).resume();
