// One real redis-server for a test: an address, and the faults of a master. It is a child of the
// test process, keeps nothing on disk by default, and dies with the test process. *Note:* `command`
// uses a connection of its own, separate from the code under test; it is lost when the master is
// killed, and made again for the next command.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { ServerProgram } from '../../src/local/server-program.ts';
import { generous } from './patience.ts';
import { freePort } from './ports.ts';
import { eventually, isFrozen } from './processes.ts';
import { dieWithUs, forget } from './watchdog.ts';

export interface MasterOptions {
  /** unix sockets unless a test needs TCP. */
  transport?: 'unix' | 'tcp';
  /** Keep the data over restart(), like a master with appendfsync always. */
  persist?: boolean;
  /** More settings, as in redis.conf: { requirepass: 'x', user: ['job', 'on', 'nopass'] }. */
  config?: Record<string, string | string[]>;
}

export class TestMaster {
  readonly name: string;
  /** unix:///path/to.sock or redis://127.0.0.1:port, never with a password. */
  readonly url: string;
  readonly directory: string;
  /** The processes of this master whose end has not been told yet. */
  readonly pids = new Set<number>();
  readonly #program: ServerProgram;
  readonly #options: MasterOptions;
  readonly #address: { path: string } | { host: string; port: number };
  #server: ChildProcess | undefined;
  #control: Redis | undefined;

  private constructor(
    name: string,
    directory: string,
    program: ServerProgram,
    options: MasterOptions,
    port: number,
  ) {
    this.name = name;
    this.directory = directory;
    this.#program = program;
    this.#options = options;
    this.#address = port === 0 ? { path: join(directory, 's') } : { host: '127.0.0.1', port };
    this.url =
      'path' in this.#address ? `unix://${this.#address.path}` : `redis://127.0.0.1:${port}`;
  }

  /** Starts a server in a new folder and returns when it answers. */
  static async start(
    name: string,
    directory: string,
    program: ServerProgram,
    options: MasterOptions,
  ) {
    mkdirSync(directory);
    const master = new TestMaster(
      name,
      directory,
      program,
      options,
      options.transport === 'tcp' ? await freePort() : 0,
    );
    await master.#launch();
    return master;
  }

  get pid(): number {
    if (this.#server?.pid === undefined) throw new Error(`${this.name} is not running`);
    return this.#server.pid;
  }

  get isRunning(): boolean {
    return this.#server !== undefined;
  }

  get isFrozen(): boolean {
    return isFrozen(this.pid);
  }

  /** SIGSTOP: connections are accepted by the kernel, nothing is ever answered. */
  async freeze(): Promise<void> {
    const pid = this.pid;
    process.kill(pid, 'SIGSTOP');
    await eventually(`${this.name} frozen`, () => isFrozen(pid));
  }

  /** SIGCONT: held commands are executed now. */
  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** SIGKILL: the address refuses connections until restart(). */
  async kill(): Promise<void> {
    const server = this.#server;
    this.#control?.disconnect();
    this.#control = undefined;
    if (server === undefined) return;
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGKILL'); // Reaches a frozen server as well.
    await ended;
  }

  /** Killed, and started again at the same address: empty, unless it persists. */
  async restart(): Promise<void> {
    await this.kill();
    await this.#launch();
  }

  /** Killed, and started again at the same address with another disk, which is empty. */
  async replaceDisk(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
    mkdirSync(this.directory);
    await this.#launch();
  }

  /** Ended, with its folder removed. May be called twice. */
  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** The reply of the server to one command; an error reply is thrown. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    const control = this.#control ?? this.#connect();
    return control.call(name, ...args);
  }

  async get(key: string): Promise<string | null> {
    return (await this.command('get', key)) as string | null;
  }

  /** All keys of database 0, sorted. */
  async keys(): Promise<string[]> {
    return ((await this.command('keys', '*')) as string[]).sort();
  }

  /** Gives it a mark from long ago, as a master that has been in use for long has one. */
  async markLongAgo(prefix: string): Promise<void> {
    await this.command('hset', `{${prefix}}:mark`, 'id', this.name, 'since', 1_000);
  }

  async flush(): Promise<void> {
    await this.command('flushall');
  }

  /**
   * Collects the messages on these channels. The function that it resolves with ends that, after
   * all messages so far.
   */
  async hear(
    channels: readonly string[],
    onWakeUp: (channel: string) => void,
  ): Promise<() => Promise<void>> {
    const ear = this.#connect();
    this.#control = undefined;
    ear.on('message', onWakeUp);
    await ear.subscribe(...channels);
    return async () => {
      await ear.unsubscribe();
      ear.disconnect();
    };
  }

  #connect(): Redis {
    const password = this.#options.config?.requirepass;
    const control = new Redis({
      ...this.#address,
      ...(typeof password === 'string' ? { password } : {}),
      retryStrategy: () => null,
      enableReadyCheck: false,
      connectTimeout: generous(5_000),
      commandTimeout: generous(20_000),
    });
    control.on('error', () => {}); // The command that it concerns fails with it.
    control.once('end', () => {
      if (this.#control === control) this.#control = undefined;
    });
    this.#control = control;
    return control;
  }

  async #launch(): Promise<void> {
    const { path, argv0, environment } = this.#program;
    const server = spawn(path, this.#args(), { argv0, env: environment, stdio: 'ignore' });
    const pid = server.pid;
    if (pid === undefined)
      throw await new Promise<Error>((resolve) => server.once('error', resolve));
    dieWithUs(pid);
    this.pids.add(pid);
    this.#server = server;
    server.once('exit', () => {
      forget(pid);
      this.pids.delete(pid);
      if (this.#server === server) this.#server = undefined;
    });
    await eventually(`${this.name} answers`, async () => {
      if (!this.isRunning)
        throw new Error(
          `${this.name} did not start:\n${readFileSync(join(this.directory, 'log'))}`,
        );
      return this.command('ping').catch((error) => /NOAUTH|NOPERM|WRONGPASS/.test(String(error)));
    });
  }

  #args(): string[] {
    const address = this.#address;
    const settings: Record<string, string | string[]> = {
      ...('path' in address
        ? { port: '0', unixsocket: address.path, unixsocketperm: '700' }
        : { port: String(address.port), bind: address.host }),
      ...(this.#options.persist
        ? { appendonly: 'yes', appendfsync: 'always' }
        : { appendonly: 'no' }),
      save: '',
      dir: this.directory,
      logfile: join(this.directory, 'log'),
      ...this.#options.config,
    };
    return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...[value].flat()]);
  }
}
