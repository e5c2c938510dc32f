// The guard: a small program beside redlock-run, in a session of its own, which ends the command's tree when redlock-run
// cannot. The second composition root; it knows nothing of Redis. The surprise: it ignores every signal that can be ignored
// and has another name than node, because whoever ends redlock-run with `killall` or Ctrl-C must not end it as well.

import { Guard } from './run/guard/guard.ts';
import {
  asLine,
  eachMessage,
  type FromGuard,
  type GuardOrders,
  type Readings,
  type ToGuard,
} from './run/guard/protocol.ts';
import type { Signal } from './run/supervisor.ts';
import { processTable } from './run/tree/process-table.ts';
import { killTree, stopTree } from './run/tree/sweep.ts';
import { Tree } from './run/tree/tree.ts';
import { createSystemClock, readingsNow } from './system-clock.ts';

process.title = 'redlock-guard';
const ignored: Signal[] = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGTSTP', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'];
for (const signal of ignored) process.on(signal, () => {});

const orders = JSON.parse(process.argv[2] ?? '') as GuardOrders;
const clock = createSystemClock();
const tree = new Tree(processTable, orders.runId, orders.pid, [orders.pid]);
const guarded = { stop: (signal: Signal) => stopTree(tree, signal), kill: () => killTree(tree, clock) };
const guard = new Guard(orders, guarded, clock, () => tell({ kind: 'stopping' }));

eachMessage<ToGuard>(process.stdin, (message) => {
  switch (message.kind) {
    case 'arm': {
      const from = clock.now() - passedSince(message.readings) + orders.slackMs;
      guard.arm(from + message.stopInMs, from + message.killInMs);
      tell({ kind: 'armed' });
      // Who is seen now stays known when he wipes his environment and loses his parents later.
      tree.scan();
      break;
    }
    case 'root':
      tree.setRoot(message.root);
      break;
    case 'done':
      guard.finish();
      process.exit(0);
  }
});
process.stdin.on('close', () => guard.abandon().finally(() => process.exit(0)));
process.stdout.on('error', () => {});
tell({ kind: 'ready' });

function tell(message: FromGuard): void {
  process.stdout.write(asLine(message));
}

/** The largest progress of any clock: while the machine slept, only some of them went on. */
function passedSince(then: Readings): number {
  const now = readingsNow();
  const bootMs = now.boot === null || then.boot === null ? 0 : now.boot - then.boot;
  return Math.max(now.monotonic - then.monotonic, bootMs, now.wall - then.wall);
}
