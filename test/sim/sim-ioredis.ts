// ioredis, as far as src/redis uses it, over simulated sockets. It is set up as
// src/redis/connection/client.ts asks, so nothing is queued or sent twice. As with the real one,
// after disconnect() the status stays "ready" until the server has hung up, or for two seconds, and
// replies still arrive.

import { hosts } from './hub.ts';
import type { Answer } from './sim-server.ts';
import { SimSocket } from './sim-socket.ts';
import { SimStream } from './sim-stream.ts';

const disconnectTimeoutMs = 2_000;

interface Pending {
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface ClientOptions {
  readonly host: string;
  readonly connectTimeout: number;
}

export class Redis {
  status: 'wait' | 'connecting' | 'ready' | 'end' = 'wait';
  readonly #options: ClientOptions;
  readonly #pending: Pending[] = [];
  #socket: SimSocket | null = null;
  #isEnding = false;
  #stream: SimStream | null = null;
  #giveUp: () => void = () => {};
  #onError: (error: Error) => void = () => {};

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Never reports that it has connected: the replies in here need no guard. */
  on(event: 'error' | 'connect', listener: (what: never) => void): void {
    if (event === 'error') this.#onError = listener as (error: Error) => void;
  }

  /**
   * For a client that takes the connection over: from then on nothing here is a reply. Until it is
   * connected, it can only be destroyed.
   */
  get stream(): Pick<SimStream, 'destroy'> {
    if (this.#socket === null) return { destroy: this.#giveUp };
    this.#stream ??= new SimStream(this.#socket);
    return this.#stream;
  }

  async connect(): Promise<void> {
    const endpoint = hosts().get(this.#options.host);
    if (!endpoint) throw new Error(`no such host in this world: ${this.#options.host}`);
    this.status = 'connecting';
    const socket = await SimSocket.connect(endpoint, this.#options.connectTimeout, (giveUp) => {
      this.#giveUp = giveUp;
    });
    if (typeof socket === 'string') {
      this.#emit(socket);
      this.status = 'end';
      throw closed();
    }
    this.#socket = socket;
    this.status = 'ready';
    socket.onAnswer = (answer) => this.#settle(answer);
    socket.onClose = (code) => this.#end(code);
    if (this.#isEnding) socket.end();
  }

  disconnect(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (this.status === 'wait') this.#end(null);
    const socket = this.#socket;
    if (this.status !== 'ready' || socket === null) return;
    socket.end();
    setTimeout(() => socket.destroy(), disconnectTimeoutMs);
  }

  eval(...args: (string | number)[]): Promise<unknown> {
    return this.#send('EVAL', ...args);
  }

  info(section: string): Promise<unknown> {
    return this.#send('INFO', section);
  }

  call(...args: string[]): Promise<unknown> {
    return this.#send(...args);
  }

  /** Replies are text here, as src/redis reads them. */
  callBuffer(...args: string[]): Promise<unknown> {
    return this.#send(...args);
  }

  #send(...args: (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => this.#write(args, { resolve, reject }));
  }

  #write(args: readonly (string | number)[], pending: Pending): void {
    const socket = this.#socket;
    if (this.status === 'end') return pending.reject(closed());
    if (this.status !== 'ready' || socket === null || this.#isEnding) {
      return pending.reject(
        new Error("Stream isn't writeable and enableOfflineQueue options is false"),
      );
    }
    this.#pending.push(pending);
    socket.send(args);
  }

  #settle(answer: Answer): void {
    const pending = this.#pending.shift();
    if (answer instanceof Error) pending?.reject(answer);
    else pending?.resolve(answer);
  }

  #end(code: string | null): void {
    if (code !== null) this.#emit(code);
    this.status = 'end';
    this.#stream?.closed();
    for (const { reject } of this.#pending.splice(0)) reject(closed());
  }

  #emit(code: string): void {
    this.#onError(Object.assign(new Error(code), { code }));
  }
}

function closed(): Error {
  return new Error('Connection is closed.');
}
