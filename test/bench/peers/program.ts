// One contestant of the cycles as a program of its own, so that none shares an event loop, a heap
// or a compiler with another: reads `count limitMs` from a line of stdin and answers with a line of
// JSON, { ms } or { error }.

import { createInterface } from 'node:readline';
import { bareIoredis } from './bare-ioredis.ts';
import { floor } from './floor.ts';
import { type Cycle, npmPeer } from './npm.ts';
import { ours } from './ours.ts';

const [name = '', folder = '', ...urls] = process.argv.slice(2);

async function contestant(): Promise<Cycle> {
  if (name === 'floor') return floor(urls);
  if (name === 'bare-ioredis') return bareIoredis(urls);
  if (name === 'fenced' || name === 'unfenced') return ours(name === 'fenced', urls);
  return npmPeer(name, folder, urls);
}

async function block(cycle: Cycle, count: number, limitMs: number): Promise<number[]> {
  const times: number[] = [];
  for (let totalMs = 0; times.length < count && totalMs < limitMs; ) {
    const startedAt = performance.now();
    await cycle();
    const ms = performance.now() - startedAt;
    times.push(ms);
    totalMs += ms;
  }
  return times;
}

const cycle = await contestant();
for await (const line of createInterface(process.stdin)) {
  const [count = 0, limitMs = 0] = line.split(' ').map(Number);
  const answer = await block(cycle, count, limitMs).then(
    (ms) => ({ ms }),
    (error: unknown) => ({
      error: error instanceof Error ? `${error.name}: ${error.message}` : String(error),
    }),
  );
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
