// The guard: a small program beside redlock-run, in a session of its own, which ends the command's tree when redlock-run
// cannot. The second composition root; it knows nothing of Redis. The surprise: it ignores every signal that can be ignored
// and has another name than node, because whoever ends redlock-run with `killall` or Ctrl-C must not end it as well. And it
// reads and writes bare descriptors: redlock-run waits for it to be ready, and Node's streams take as long to load as Node.

import './no-inspector.ts';

import { read, writeFileSync, writeSync } from 'node:fs';
import os from 'node:os';
import { Guard } from './run/guard/guard.ts';
import {
  type Arm,
  asLine,
  eachMessage,
  type FromGuard,
  type GuardOrders,
  guardName,
  lineDescriptor,
  type Readings,
  type ToGuard,
} from './run/guard/protocol.ts';
import type { Signal } from './run/supervisor.ts';
import { processTable } from './run/tree/process-table.ts';
import { countAlive, killTree, remember, stopTree } from './run/tree/sweep.ts';
import { Tree } from './run/tree/tree.ts';
import { createSystemClock, readingsNow } from './system-clock.ts';

process.title = guardName;
// Bun, in the standalone executable, keeps a title to itself, and killall(1) goes by what the kernel knows.
if (process.versions.bun && process.platform === 'linux') writeFileSync('/proc/self/comm', guardName);
/** Ends us if it cannot be handled (KILL, STOP), or says that we are broken. */
const deadly = ['KILL', 'STOP', 'ILL', 'ABRT', 'IOT', 'BUS', 'FPE', 'SEGV', 'TRAP', 'SYS', 'PROF', 'CHLD'];
for (const signal of Object.keys(os.constants.signals) as Signal[]) {
  if (!deadly.includes(signal.slice('SIG'.length))) process.on(signal, () => {});
}

const clock = createSystemClock();
/** When the command has begun to start others. */
const firstLookMs = 100;
/** What follows from the orders; null until they come. */
let post: { readonly orders: GuardOrders; readonly tree: Tree; readonly guard: Guard } | null = null;

listen(eachMessage<ToGuard>(obey), leave);

function obey(message: ToGuard): void {
  if (message.kind === 'orders') post = takeUp(message.orders);
  if (post === null) return;
  const { orders, tree, guard } = post;
  if (message.kind === 'orders') return tell({ kind: 'ready' });
  if (message.kind === 'rehearse') return rehearse(orders);
  if (message.kind === 'arm') {
    arm(guard, orders, message);
    // The first one comes right before the command.
    if (message.count > 1) remember(tree);
    else clock.sleep(firstLookMs).then(() => remember(tree));
  } else {
    tree.setRoot(message.root);
    guard.found();
  }
}

function takeUp(orders: GuardOrders) {
  const tree = new Tree(processTable, orders.runId, orders.pid);
  const guarded = {
    stop: (signal: Signal) => stopTree(tree, signal),
    kill: () => killTree(tree, clock),
    aliveCount: () => countAlive(tree),
  };
  return { orders, tree, guard: new Guard(orders, guarded, clock, () => tell({ kind: 'stopping' })) };
}

/** Whoever waits for a lock wants the machine for himself when he has it, and what runs for the first time takes ten times as long. */
function rehearse(orders: GuardOrders): void {
  const nobody = { stop: () => {}, kill: async () => {} };
  const guard = new Guard(orders, nobody, clock, () => {});
  const farMs = Number.MAX_SAFE_INTEGER;
  arm(guard, orders, { kind: 'arm', count: 0, readings: readingsNow(), stopInMs: farMs, killInMs: farMs });
  guard.found();
  guard.finish();
}

/** redlock-run is gone, and everybody else who could write to us: also a child that it has forked just before it died. */
async function leave(): Promise<void> {
  await post?.guard.abandon();
  process.exit(0);
}

function arm(guard: Guard, { slackMs }: GuardOrders, { count, readings, stopInMs, killInMs }: Arm): void {
  const from = clock.now() - passedSince(readings) + slackMs;
  guard.arm(from + stopInMs, from + killInMs);
  tell({ kind: 'armed', count });
}

function tell(message: FromGuard): void {
  try {
    writeSync(lineDescriptor, asLine(message));
  } catch {
    // Nobody is there to hear it, which the next read will tell.
  }
}

/** Reads until nobody can write any more. A child on its way to becoming the command still holds the other end. */
function listen(onText: (text: string) => void, onEnd: () => void): void {
  const buffer = Buffer.allocUnsafe(64 * 1024);
  const next = () =>
    read(lineDescriptor, buffer, 0, buffer.length, null, (error, byteCount) => {
      if (error?.code === 'EAGAIN') return setTimeout(next, 10);
      if (error || byteCount === 0) return onEnd();
      onText(buffer.toString('latin1', 0, byteCount));
      next();
    });
  next();
}

/** The largest progress of any clock: while the machine slept, only some of them went on. */
function passedSince(then: Readings): number {
  const now = readingsNow();
  const bootMs = now.boot === null || then.boot === null ? 0 : now.boot - then.boot;
  return Math.max(now.monotonic - then.monotonic, bootMs, now.wall - then.wall);
}
