// redlock-guard as a process, with a command of real processes. A test sees the reports on both of
// its sockets, and which processes of the command are left.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { childrenOf } from '../servers/proc.ts';
import { eventually, isAlive, isFrozen } from '../servers/processes.ts';
import { MARK, survivorsOf } from '../servers/survivors.ts';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import { guardFile } from './build.ts';
import type { Deadline, Event } from './cases.ts';

const hour = 3_600_000;

export interface RealStart {
  /** Options other than --signal and --grace. */
  readonly options?: readonly string[];
  readonly graceMs?: number;
  readonly stopIn?: Deadline;
  readonly killIn?: Deadline;
  /** Replaces the environment of the command. */
  readonly env?: NodeJS.ProcessEnv;
  /** What runs the guard: words in front of it. */
  readonly through?: readonly string[];
  readonly stderr?: number;
  readonly file?: string;
}

/** The guards that have been started and not been seen to end. */
const open = new Set<RealGuard>();

export class RealGuard {
  /**
   * All until now, from both guards. An exit is without its instant, and a death by a signal
   * without the count of what is left.
   */
  readonly reports: string[] = [];
  /** The whole text of each report of an exit. */
  readonly exits: string[] = [];
  readonly process: ChildProcess;
  readonly #mark = randomBytes(8).toString('hex');
  #output = '';
  #innerPid: number | undefined;
  #isOuterStopped = false;
  #isKept = false;

  constructor(command: readonly string[], start: RealStart = {}) {
    const { options = [], graceMs = hour, stopIn = hour, killIn = hour, through = [] } = start;
    const file = start.file ?? guardFile();
    const deadlines = [instantAfter(stopIn), instantAfter(killIn)];
    const words = [
      '--protocol=1',
      '--signal=15',
      `--grace=${graceMs}`,
      ...options,
      ...deadlines,
      '--',
      ...command,
    ];
    const [first = file, ...rest] = [...through, file, ...words];
    this.process = spawn(first, rest, {
      stdio: ['pipe', 'pipe', start.stderr ?? 'pipe', 'pipe', 'pipe', 'pipe'],
      env: { ...(start.env ?? process.env), [MARK]: this.#mark },
    });
    open.add(this);
    dieWithUs(this.pid);
    this.process.once('exit', () => forget(this.pid));
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (this.#output += text));
    this.process.stdin?.on('error', () => {}); // The command may have ended.
    for (const fd of [3, 4, 5] as const) this.#listen(this.#socket(fd));
  }

  get pid(): number {
    if (this.process.pid === undefined) throw new Error('the guard did not start');
    return this.process.pid;
  }

  /** The inner guard, also after its end. */
  get innerPid(): number {
    this.#innerPid ??= childrenOf(this.pid)[0];
    if (this.#innerPid === undefined) throw new Error('there is no inner guard');
    return this.#innerPid;
  }

  /** What the command has written, to stdout and stderr. */
  get output(): string {
    return this.#output;
  }

  get stdout(): Readable {
    return this.process.stdout as Readable;
  }

  /** The live processes of the command, and both guards before they hide their environment. */
  get survivors(): readonly number[] {
    return survivorsOf(this.#mark).map(({ pid }) => pid);
  }

  /** Resolves when the command is in place, or could not be started. */
  async ready(): Promise<void> {
    const seen = () => `ready: ${this.reports.join(', ')}; ${this.#output}`;
    const hasFailed = () => this.reports.some((report) => report.startsWith('failed'));
    const hasStarted = () => this.reports.some((report) => report.startsWith('started'));
    const isReady = () => hasStarted() && this.#output.includes('ready\n');
    await this.#until(seen, () => hasFailed() || isReady());
  }

  async awaits(report: string): Promise<void> {
    const seen = () => `${report}, after: ${this.reports.join(', ')}; ${this.#output}`;
    await this.#until(seen, () => this.reports.some((one) => one.startsWith(report)));
  }

  /** Resolves with the first match in what the command has written. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const seen = () => `${pattern} in ${JSON.stringify(this.#output)}; ${this.reports.join(', ')}`;
    return this.#until(seen, () => pattern.exec(this.#output));
  }

  send(text: string): void {
    for (const fd of [3, 4] as const) this.#socket(fd).write(text);
  }

  async happens(event: Event): Promise<void> {
    if (event === 'run dies') this.abandon();
    else if (event === 'outer dies') process.kill(this.pid, 'SIGKILL');
    else if (event === 'inner dies') process.kill(this.innerPid, 'SIGKILL');
    else if (event === 'outer stops') await this.#stopOuter();
    else if (event === 'inner stops') process.kill(this.innerPid, 'SIGSTOP');
    else if ('send' in event) this.#sendLine(event.send);
    else if ('sendPart' in event) this.send(event.sendPart);
    else if ('sendBytes' in event) await this.#sendBytes(event.sendBytes);
    else if ('deadlines' in event)
      this.send(`deadlines ${event.deadlines.map(instantAfter).join(' ')}\n`);
    else if ('exits' in event) this.process.stdin?.write(`exits ${event.exits}\n`);
    else if ('dies' in event) this.process.stdin?.write(`dies ${event.dies}\n`);
    else if ('awaits' in event) await this.awaits(event.awaits);
    else await clockPasses(event.passes);
  }

  /** As the death of redlock-run. */
  abandon(): void {
    for (const fd of [3, 4, 5] as const) this.#socket(fd).destroy();
  }

  /** Resolves when no process of the command and no guard is left. */
  async gone(): Promise<void> {
    await this.#until(
      () => `the command is gone: ${JSON.stringify(survivorsOf(this.#mark))}; ${this.reports}`,
      () => this.#haveGuardsLeft() && this.survivors.length === 0,
    );
    const guards = [this.pid, this.#innerPid ?? this.pid];
    await this.#until(
      () => `the guards are gone; ${this.reports.join(', ')}`,
      () => guards.every((pid) => !isAlive(pid)) && this.survivors.length === 0,
    );
    open.delete(this);
  }

  /** Kills what a failed test has left. */
  close(): void {
    for (const pid of [this.pid, this.#innerPid, ...this.survivors])
      if (pid !== undefined && isAlive(pid)) killQuietly(pid);
    for (const pid of this.survivors) killQuietly(pid);
    open.delete(this);
  }

  /** No guard can report anything more. What `keep` has left alone goes now. */
  #haveGuardsLeft(): boolean {
    const isOver = this.#isOuterStopped && this.reports.includes('ended');
    if (!isOver && !this.#socket(5).destroyed) return false;
    for (const pid of this.#isKept ? this.survivors : []) killQuietly(pid);
    return true;
  }

  async #stopOuter(): Promise<void> {
    process.kill(this.pid, 'SIGSTOP');
    this.#isOuterStopped = true;
    // It goes on when the tree has ended, which may be now.
    const isOver = () => this.reports.includes('ended');
    await eventually('the outer guard is stopped', () => isFrozen(this.pid) || isOver());
  }

  #sendLine(line: string): void {
    this.#isKept ||= line === 'keep';
    this.send(`${line}\n`);
  }

  async #sendBytes(text: string): Promise<void> {
    for (const byte of text) {
      this.send(byte);
      // So that each byte is read by itself, as far as that can be arranged.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #socket(fd: 3 | 4 | 5): Duplex {
    return (this.process.stdio as readonly unknown[])[fd] as Duplex;
  }

  #listen(socket: Duplex): void {
    let rest = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#hear(line);
    });
    socket.on('error', () => {}); // 'close' follows.
  }

  #hear(line: string): void {
    const [kind = '', code, left, ...instant] = line.split(' ');
    if (instant.length > 0) this.exits.push(line);
    // How many are left when a signal has reached the others too is a matter of chance.
    if (kind === 'exited') this.reports.push([kind, code, left].join(' '));
    else this.reports.push(kind === 'signaled' ? `${kind} ${code}` : line);
    // What started before is known by now, and its number is needed when it has ended.
    if (kind === 'started') this.#innerPid ??= childrenOf(this.pid)[0];
  }

  async #until<T>(what: () => string, condition: () => T): Promise<NonNullable<T>> {
    try {
      return (await eventually('', condition, 10_000)) as NonNullable<T>;
    } catch {
      throw new Error(`not in time: ${what()}`);
    }
  }
}

/** For afterEach: no test leaves a process. */
export function closeAll(): void {
  for (const guard of open) guard.close();
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended, or belongs to another user.
  }
}

/** In ns, as the guard reads them. The boot clock is known to 10 ms. */
function clocksNow(): readonly [bigint, bigint, bigint] {
  const [uptime = '0'] = readFileSync('/proc/uptime', 'utf8').split(' ');
  return [process.hrtime.bigint(), nsOf(Number(uptime) * 1000), nsOf(Date.now())];
}

function instantAfter(deadline: Deadline): string {
  return clocksNow()
    .map((now, index) => {
      const ms = typeof deadline === 'number' ? deadline : (deadline[index] ?? null);
      return ms === null ? '-' : String(now + nsOf(ms));
    })
    .join(',');
}

const nsOf = (ms: number) => BigInt(Math.round(ms * 1000)) * 1000n;

async function clockPasses(ms: number): Promise<void> {
  const until = clocksNow().map((now) => now + nsOf(ms));
  await eventually('the clocks pass', () =>
    clocksNow().every((now, index) => now >= (until[index] ?? 0n)),
  );
}
