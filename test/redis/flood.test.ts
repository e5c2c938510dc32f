// What one server may send without being asked: enough for every use of a lock, and so little that
// the answers of the other masters are read in time.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { readInTurns } from '../../src/redis/connection/reply-guard.ts';
import {
  behind,
  confirmed,
  flood,
  type HostileMaster,
  messageOn,
  refusal,
  startHostile,
} from '../servers/hostile-master.ts';
import { eventually } from '../servers/processes.ts';
import { clock, handleOn, lasting, newClaim } from './rig.ts';

const id = 'waiter';
const subscribes = (args: readonly string[]) => args[0] === 'SUBSCRIBE';

/** A master that confirms subscriptions, and does this with each; votes are refused. */
function master(onSubscribed: (channels: readonly string[], socket: Socket) => void) {
  return startHostile(
    behind((args, socket) => {
      if (!subscribes(args)) return refusal();
      socket.write(confirmed(args), () => onSubscribed(args.slice(1), socket));
      return null;
    }),
  );
}

const subscriptionsOn = ({ commands }: HostileMaster) => commands.filter(subscribes).length;

test('a flood of messages is cut off; the next request subscribes again', async () => {
  const flooding = await master(([channel = ''], socket) => flood(socket, messageOn(channel)));
  const handle = handleOn(flooding);
  let count = 0;
  await handle.subscribe(['name'], id, () => {
    count += 1;
  });
  await eventually('cut off', () => flooding.connectionCount === 0);
  expect(count).toBeGreaterThan(10);
  // For a second and a channel.
  expect(count).toBeLessThan(75);
  expect(subscriptionsOn(flooding)).toBe(1);
  await handle.acquire(newClaim({ resources: ['name'], waiter: { id, arrivalUs: 1 } }), lasting);
  await eventually('subscribed again', () => subscriptionsOn(flooding) === 2);
});

test.each<[string, (channel: string) => string]>([
  ['for a channel that is not ours', () => messageOn('another')],
  ['that are long', (channel) => messageOn(channel, 'x'.repeat(30_000))],
  ['that confirm again and again', (channel) => confirmed(['SUBSCRIBE', channel])],
])('a flood of messages %s is cut off', async (_, bytesFor) => {
  const flooding = await master(([channel = ''], socket) => flood(socket, bytesFor(channel)));
  let count = 0;
  await handleOn(flooding).subscribe(['name'], id, () => {
    count += 1;
  });
  await eventually('cut off', () => flooding.connectionCount === 0);
  expect(count).toBeLessThan(5);
});

test('fifty messages in a second are no flood, also for a long time', async () => {
  const sockets: Socket[] = [];
  let send = () => {};
  const busy = await master(([channel = ''], socket) => {
    sockets.push(socket);
    send = () => void socket.write(messageOn(channel).repeat(50));
  });
  let now = 0;
  const handle = handleOn(busy, { by: { now: () => now, sleep: clock.sleep.bind(clock) } });
  let count = 0;
  await handle.subscribe(['name'], id, () => {
    count += 1;
  });
  for (let second = 1; second <= 20; second += 1) {
    now = second * 1_000;
    send();
    await eventually('all are read', () => count === second * 50);
  }
  expect(sockets[0]?.destroyed).toBe(false);
});

test('a program that waits for many locks may get a few messages for each', async () => {
  const names = Array.from({ length: 100 }, (_, nth) => `name${nth}`);
  const busy = await master((channels, socket) => {
    socket.write(channels.map((channel) => messageOn(channel).repeat(5)).join(''));
  });
  let count = 0;
  await handleOn(busy).subscribe(names, id, () => {
    count += 1;
  });
  await eventually('all are read', () => count === 500);
  expect(busy.connectionCount).toBe(1);
});

test('one turn of the event loop reads one chunk, however much there is', async () => {
  const byteCount = 4 * 1024 * 1024;
  const server = createServer((socket) => socket.end(Buffer.alloc(byteCount)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let [turn, readCount] = [0, 0];
  const chunkTurns: number[] = [];
  const next = () => {
    turn += 1;
    if (!socket.destroyed) setImmediate(next);
  };
  next();
  readInTurns(socket, (chunk) => {
    readCount += chunk.length;
    chunkTurns.push(turn);
  });
  await new Promise((resolve) => socket.once('close', resolve));
  server.close();
  expect(readCount).toBe(byteCount);
  expect(new Set(chunkTurns).size).toBe(chunkTurns.length);
});
