// The guard: a small program beside redlock-run. It starts the command when it has received the
// first deadline, keeps the tree of its processes as a child subreaper (Linux), and ends that tree
// when redlock-run dies or freezes. It knows nothing of Redis.
// *Invariant:* it ignores every signal that can be ignored and has another name than node, because
// what ends redlock-run (killall, Ctrl-C) must not end the guard too.
// *Note:* it reads and writes bare descriptors: redlock-run waits for it, and Node's streams take
// as long to load as Node.

import './no-inspector.ts';

import { closeSync, openSync, read, writeFileSync, writeSync } from 'node:fs';
import os from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import { startCommand } from '../run/guard/command.ts';
import { Guard } from '../run/guard/guard.ts';
import {
  type Answer,
  answerDescriptor,
  asLine,
  callerStreams,
  type Deadlines,
  eachMessage,
  type FromGuard,
  type GuardConfig,
  guardName,
  mostMsSince,
  requestDescriptor,
  type StartPlan,
  type ToGuard,
  type Until,
} from '../run/guard/protocol.ts';
import { calmMs, onEndedChild } from '../run/processes/ended-children.ts';
import { KeptTree } from '../run/processes/kept-tree.ts';
import { type Libc, loadLibc } from '../run/processes/libc.ts';
import type { ProcessTree, RunningCommand } from '../run/processes/process-tree.ts';
import { SeenTree } from '../run/processes/seen-tree.ts';
import type { Signal } from '../run/run-result.ts';
import { signalsThat } from '../run/signals.ts';
import { createSystemClock, readingsNow } from '../system/clock.ts';
import { loadClockSources } from './clock-sources.ts';
import type { CodeCache } from './code-cache.ts';

process.title = guardName;
// Bun, in the executable, does not pass the title to the kernel, whose name killall(1) uses.
if (process.versions.bun && process.platform === 'linux') {
  writeFileSync('/proc/self/comm', guardName);
}
for (const signal of signalsThat(({ isIgnoredByGuard }) => isIgnoredByGuard)) {
  if (signal in os.constants.signals) process.on(signal, () => {});
}

// Loaded before the first request: redlock-run would wait for it.
const clock = createSystemClock(() => {}, loadClockSources());
const { libc, failure } = triedLibc();
let config: GuardConfig | null = null;
let guard: Guard | null = null;
let tree: ProcessTree | null = null;
/** null: the executable, which has its code in itself. */
let code: CodeCache | null = null;
/** redlock-run has sent the stop signal in our place. */
let isStoppedByRun = false;
const decoder = new StringDecoder('utf8');
const onText = eachMessage<ToGuard>(obey, leave);
listen((bytes) => onText(decoder.write(bytes)), leave);

/** To be called before the first request is read. */
export function keepCodeIn(cache: CodeCache): void {
  code = cache;
}

/** The pipe is closed, or brings what redlock-run does not write: it has ended. */
async function leave(): Promise<void> {
  await guard?.abandon();
  process.exit(0);
}

function obey({ id, ...request }: ToGuard): void {
  const answer = (facts: Omit<Answer, 'kind' | 'id'> = {}) =>
    tell({ kind: 'answer', id, ...facts });
  switch (request.kind) {
    case 'configure':
      return answer({ ...configure(request.config), hasCode: code?.isIncomplete ?? false });
    case 'deadlines':
      setDeadlines(request);
      return answer();
    case 'start':
      return start(request.plan, answer);
    case 'relay':
      tree?.relay(request.signal);
      return answer();
    case 'stop':
      if (isOver(request.until)) return answer({ isDropped: true });
      answer();
      if (guard?.stop(request.signal) === false) void tree?.kill();
      return;
    case 'stopped':
      isStoppedByRun = true;
      return answer();
    case 'keep-code':
      code?.keep();
      return process.exit(0);
    case 'count':
      return answer({ count: tree?.countAlive() ?? 0 });
    case 'kill':
      if (isOver(request.until)) return answer({ isDropped: true });
      answer();
      void (tree?.kill() ?? Promise.resolve([])).then((unkillable) =>
        tell({ kind: 'killed', unkillable }),
      );
      return;
  }
}

/** Whether redlock-run does by now itself what it has asked for. */
function isOver({ readings, withinMs }: Until): boolean {
  return mostMsSince(readings, readingsNow()) > withinMs;
}

function configure(wanted: GuardConfig): { readonly failure?: string } {
  if (libc === null) return { failure };
  if (process.platform === 'linux' && !libc.becomeSubreaper()) {
    return { failure: 'this system does not let a process keep the orphans of another' };
  }
  config = wanted;
  const guarded = {
    stop: (signal: Signal, withinMs: number) => isStoppedByRun || tree?.stop(signal, withinMs),
    kill: async () => tree?.kill(),
    isEmpty: () => tree?.isEmpty() ?? true,
    size: () => tree?.size() ?? 0,
  };
  guard = new Guard(wanted, guarded, clock, () => tell({ kind: 'stopping' }));
  return {};
}

/** `libc` is null where this machine cannot call the C library; `failure` says why. */
function triedLibc(): { readonly libc: Libc | null; readonly failure: string } {
  try {
    return { libc: loadLibc(), failure: '' };
  } catch (error) {
    return { libc: null, failure: (error as Error).message };
  }
}

function setDeadlines({ readings, stopInMs, killInMs }: Deadlines): void {
  if (guard === null || config === null) return;
  const from = clock.now() - mostMsSince(readings, readingsNow()) + config.slackMs;
  guard.setDeadlines(from + stopInMs, from + killInMs);
}

function start(plan: StartPlan, answer: (facts: Omit<Answer, 'kind' | 'id'>) => void): void {
  if (libc === null || guard === null || !guard.mayStart) {
    return answer({ exit: { kind: 'never-started', reason: 'suspended' } });
  }
  // Before the command starts: what kills the caller's group must not kill the guard with the
  // command.
  if (!plan.isForeground) libc.leaveSession();
  const started = startCommand(plan);
  if (started.pid === null) {
    void started.exited.then((exit) => answer({ exit }));
    return;
  }
  const { isForeground, hasNamespace } = plan;
  const running = { pid: started.pid, isForeground, hasNamespace };
  const isOther = () => false;
  const keptParts = { libc, command: running, isOther, isReapedByNode: true, guard: null };
  const kept = new KeptTree(keptParts);
  tree = keptOrSeen(kept, running);
  answer({ pid: started.pid });
  if (isForeground) libc.leaveGroup();
  leaveCaller();
  void started.reaped.then(() => kept.commandReaped());
  void started.exited.then((exit) => {
    const leftCount = tree?.countAlive() ?? 0;
    tell({ kind: 'exited', exit, readings: readingsNow(), leftCount });
  });
  guard.begin();
  onEndedChild(() => tree?.look());
  setInterval(() => {
    tree?.look();
    clock.now(); // Notices that the time of day was set.
  }, calmMs);
}

/** The tree that the kernel keeps; on other systems the one that is seen. */
function keptOrSeen(kept: KeptTree, command: RunningCommand): ProcessTree {
  if (process.platform === 'linux') return kept;
  return new SeenTree(command);
}

/** Closes the caller's streams and leaves its folder: from now on only the command uses them. */
function leaveCaller(): void {
  for (const descriptor of callerStreams) closeSync(descriptor);
  // It becomes descriptor 0: Node restores the modes of a terminal that it finds there at its exit.
  openSync(os.devNull, 'r');
  process.chdir('/');
}

function tell(message: FromGuard): void {
  try {
    writeSync(answerDescriptor, asLine(message));
  } catch {
    // redlock-run has ended, as the next read will show.
  }
}

/** Reads until the pipe is closed. */
function listen(onBytes: (bytes: Buffer) => void, onEnd: () => void): void {
  const buffer = Buffer.allocUnsafe(64 * 1024);
  const next = () =>
    read(requestDescriptor, buffer, 0, buffer.length, null, (error, byteCount) => {
      if (error?.code === 'EAGAIN') return setTimeout(next, 10);
      if (error || byteCount === 0) return onEnd();
      onBytes(buffer.subarray(0, byteCount));
      next();
    });
  next();
}
