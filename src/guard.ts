// The guard: a small program beside redlock-run, in a session of its own, which ends the command's tree when redlock-run
// cannot. The second composition root; it knows nothing of Redis. The surprise: it ignores every signal that can be ignored
// and has another name than node, because whoever ends redlock-run with `killall` or Ctrl-C must not end it as well.

import os from 'node:os';
import { Guard } from './run/guard/guard.ts';
import {
  type Arm,
  asLine,
  eachMessage,
  type FromGuard,
  type GuardOrders,
  type Readings,
  type ToGuard,
} from './run/guard/protocol.ts';
import type { Signal } from './run/supervisor.ts';
import { processTable } from './run/tree/process-table.ts';
import { countAlive, killTree, remember, stopTree } from './run/tree/sweep.ts';
import { Tree } from './run/tree/tree.ts';
import { createSystemClock, readingsNow } from './system-clock.ts';

process.title = 'redlock-guard';
/** Ends us if it cannot be handled (KILL, STOP), or says that we are broken. */
const deadly = ['KILL', 'STOP', 'ILL', 'ABRT', 'IOT', 'BUS', 'FPE', 'SEGV', 'TRAP', 'SYS', 'PROF', 'CHLD'];
for (const signal of Object.keys(os.constants.signals) as Signal[]) {
  if (!deadly.includes(signal.slice('SIG'.length))) process.on(signal, () => {});
}

const orders = JSON.parse(process.argv[2] ?? '') as GuardOrders;
const clock = createSystemClock();
const tree = new Tree(processTable, orders.runId, orders.pid);
const guarded = {
  stop: (signal: Signal) => stopTree(tree, signal),
  kill: () => killTree(tree, clock),
  aliveCount: () => countAlive(tree),
};
const guard = new Guard(orders, guarded, clock, () => tell({ kind: 'stopping' }));

eachMessage<ToGuard>(process.stdin, (message) => {
  if (message.kind === 'arm') arm(message);
  else {
    tree.setRoot(message.root);
    guard.found();
  }
  remember(tree);
});
// Its end comes only when nobody can write to it any more: not while a child that redlock-run has forked just before it
// died is still on its way to becoming the command, which the marker would not show yet.
process.stdin.on('error', () => {});
process.stdin.on('close', () => guard.abandon().finally(() => process.exit(0)));
process.stdout.on('error', () => {});
tell({ kind: 'ready' });

function arm({ count, readings, stopInMs, killInMs }: Arm): void {
  const from = clock.now() - passedSince(readings) + orders.slackMs;
  guard.arm(from + stopInMs, from + killInMs);
  tell({ kind: 'armed', count });
}

function tell(message: FromGuard): void {
  process.stdout.write(asLine(message));
}

/** The largest progress of any clock: while the machine slept, only some of them went on. */
function passedSince(then: Readings): number {
  const now = readingsNow();
  const bootMs = now.boot === null || then.boot === null ? 0 : now.boot - then.boot;
  return Math.max(now.monotonic - then.monotonic, bootMs, now.wall - then.wall);
}
