// One guard process as redlock-run sees it: start, requests, answers, end. It is ended by SIGKILL:
// it has nothing to clean up, and a suspended guard could not act on another signal.

import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setImmediate as turned } from 'node:timers/promises';
import { startOwn } from '../processes/own-children.ts';
import { isRunnable, processEntry } from '../processes/process-table.ts';
import type { ProcessId } from '../processes/process-tree.ts';
import {
  type Answer,
  answerDescriptor,
  asLine,
  eachMessage,
  type FromGuard,
  type GuardRequest,
  guardName,
  requestDescriptor,
} from './protocol.ts';

/**
 * A guard does little but wait: it needs no threads to compile with. *Note:* with any flag of V8
 * itself Node compiles its own modules instead of loading their code, which takes 8 ms.
 */
export const frugal = ['--v8-pool-size=0'];

/** What Node was started with must apply to the guard too: its libraries, the time of day. */
const inherited = /^(PATH$|LD_|DYLD_|FAKETIME)/;

/** Under Plug'n'Play of Yarn this names the loader, without which no package is found. */
const inheritedUnderPnp = new RegExp(`${inherited.source}|^NODE_OPTIONS$`);

/** An executable file and the arguments that make it a guard. */
export interface GuardProgram {
  readonly file: string;
  readonly args: readonly string[];
}

/** Where guards come from. */
export interface GuardSupply {
  readonly program: GuardProgram;
  /** One that has been started already and waits for its configuration; null: none. */
  readonly spare: GuardProcess | null;
}

/** The interval of looks at a guard that has closed its pipe: Node tells of most ends sooner. */
const endingMs = 250;
/** Node tells of a death when it has read what came before it, and Bun one turn earlier. */
const quietTurnCount = 2;

export class GuardProcess {
  /**
   * Resolves when the process has ended and all that it has said is read, with how. Never rejects.
   */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess | null;
  readonly #unanswered = new Map<number, (answer: Answer | null) => void>();
  readonly #startedAt: number | undefined;
  #lastId = 0;
  #hasSpoken = false;

  /** Starts the process. It sends nothing before it has been configured. */
  constructor({ file, args }: GuardProgram) {
    try {
      // In the caller's folder, group and session, and with the caller's streams for the command
      // (callerStreams). Its own stderr is /dev/null: what Node writes there is not for the user.
      const guard = startOwn(file, args, {
        argv0: guardName,
        stdio: ['inherit', 'ignore', 'ignore', 'pipe', 1, 2, 'pipe'],
        env: inheritedFrom(process.env),
      });
      // Before anything that can throw: these events alone say that it could not be started.
      const ended = new Promise<string>((resolve) => {
        guard.once('error', (error) => resolve(error.message));
        guard.once('exit', (code, signal) => {
          resolve(signal ? `died of ${signal}` : `ended with code ${code}`);
        });
        pipeOf(guard, answerDescriptor)?.once('close', () => void this.#closed().then(resolve));
      });
      this.ended = ended.then(async (how) => {
        await readToEnd(pipeOf(guard, answerDescriptor));
        return how;
      });
      // One that was not started has no pid, and Node would send SIGKILL to pid 0, which is all of
      // our own process group.
      this.#process = guard.pid === undefined ? null : guard;
      if (guard.pid !== undefined) this.#startedAt = processEntry(guard.pid)?.startedAt;
      // 'exit' or 'error' follows. Out of file descriptors there may be no pipe at all.
      pipeOf(guard, requestDescriptor)?.on('error', () => {});
      pipeOf(guard, answerDescriptor)?.on('error', () => {});
    } catch (error) {
      // Out of file descriptors: then there is not even a process object.
      this.#process = null;
      this.ended = Promise.resolve((error as Error).message);
    }
  }

  /** The process as Node knows it; null: it could not be started. */
  get child(): Pick<ChildProcess, 'pid' | 'once'> | null {
    return this.#process;
  }

  /** Whether it has sent any message. */
  get hasSpoken(): boolean {
    return this.#hasSpoken;
  }

  get id(): ProcessId {
    return { pid: this.#process?.pid ?? 0, startedAt: this.#startedAt ?? 0 };
  }

  /** That of its first thread, as ps(1) shows it; Z also where it has ended. */
  get state(): string {
    const entry = processEntry(this.id.pid);
    return entry && entry.startedAt === this.#startedAt ? entry.state : 'Z';
  }

  /** Whether any of its threads runs, or waits for a processor. */
  get isRunnable(): boolean {
    return isRunnable(this.id.pid);
  }

  /** The number of the first request that it has not answered; null: it has answered all. */
  get unanswered(): number | null {
    const [first = null] = this.#unanswered.keys();
    return first;
  }

  /** Calls back for each message that is no answer. To be called once, before ask(). */
  onMessage(onMessage: (message: Exclude<FromGuard, Answer>) => void): void {
    const take = (message: FromGuard) => {
      this.#hasSpoken = true;
      if (message.kind === 'answer') this.#unanswered.get(message.id)?.(message);
      else onMessage(message);
    };
    if (this.#process === null) return;
    const read = eachMessage<FromGuard>(take, () => this.kill());
    pipeOf(this.#process, answerDescriptor)?.setEncoding('utf8').on('data', read);
  }

  /** Resolves with the answer, however late; null: see dropRequests(). */
  ask(request: GuardRequest): Promise<Answer | null> {
    this.#lastId += 1;
    const id = this.#lastId;
    if (this.#process) pipeOf(this.#process, requestDescriptor)?.write(asLine({ ...request, id }));
    return new Promise((resolve) => {
      this.#unanswered.set(id, (answer) => {
        this.#unanswered.delete(id);
        resolve(answer);
      });
    });
  }

  /**
   * The end of its pipe counts as its death also where the kernel hides that from us: a process
   * that traces it is told first.
   */
  async #closed(): Promise<string> {
    this.kill();
    do await new Promise((resolve) => setTimeout(resolve, endingMs));
    while (this.state !== 'Z' || this.isRunnable);
    return 'closed its pipe';
  }

  /** Resolves the requests that have not been answered with null. */
  dropRequests(): void {
    for (const answer of [...this.#unanswered.values()]) answer(null);
  }

  kill(): void {
    this.#process?.kill('SIGKILL');
  }
}

/** As little as possible: CI systems that kill by a marker in the environment must not find it. */
function inheritedFrom(ours: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = process.versions.pnp === undefined ? inherited : inheritedUnderPnp;
  return Object.fromEntries(Object.entries(ours).filter(([name]) => names.test(name)));
}

/**
 * What a dead guard has said lies in its pipe as a whole, and the event loop reads it in one of its
 * next turns. The end of the pipe tells nothing: a process that the guard has forked has it too,
 * until its program has begun.
 */
async function readToEnd(pipe: Duplex | undefined): Promise<void> {
  let count: number;
  do {
    count = bytesReadFrom(pipe);
    for (let turn = 0; turn < quietTurnCount; turn += 1) await turned();
  } while (bytesReadFrom(pipe) > count);
}

function bytesReadFrom(pipe: Duplex | undefined): number {
  return (pipe as Socket | undefined)?.bytesRead ?? 0;
}

function pipeOf(guard: ChildProcess, descriptor: number): Duplex | undefined {
  return guard.stdio?.[descriptor] as Duplex | undefined;
}

/**
 * Starts the guard before the command line has been parsed, because its start takes longest.
 * Whether a command is going to run is a guess here; where it is wrong, the guard is ended unused.
 * `argv`: the arguments after the program's name.
 */
export function startEarly(program: GuardProgram, argv: readonly string[]): GuardSupply {
  return { program, spare: isLikelyToRun(argv) ? new GuardProcess(program) : null };
}

function isLikelyToRun(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  const ours = end === -1 ? args : args.slice(0, end);
  return args.length > 1 && !ours.some((word) => /^(-[hV]|--(help|version|dry-run))$/.test(word));
}
