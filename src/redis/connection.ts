// One connection for commands to one server. It ends at the first trouble; whoever wants another dials again. It knows no
// locks. The surprise: it asks the server who it is in front of the first command, without waiting, and the answer is known
// before the one to the command, because a connection keeps its order.

import type { Redis } from 'ioredis';
import type { Clock, Failed } from '../lock/ports.ts';
import { type OpenedClient, type Origin, openClient } from './client.ts';
import { parseIdentity, type ServerIdentity } from './identity.ts';
import type { ScriptCall } from './script-calls.ts';
import { digestOf } from './script-digest.ts';
import { failed, failedBy, isFailed } from './trouble.ts';

/** The answer of a server that has forgotten a script, or one to a user who has no right to do anything but send scripts whole. */
const forgottenReply = /^NOSCRIPT\b|evalsha/i;

export class Connection {
  /** Who answers; known before the reply to the first command is. */
  readonly identity: Promise<ServerIdentity | Failed>;
  readonly #client: Redis;
  readonly #canSpeak3: boolean;
  readonly #clock: Clock;
  /** When each request was sent. */
  readonly #unanswered = new Map<number, number>();
  #requestCount = 0;
  /** Scripts that were answered here, and whether they are now sent by their digest. */
  readonly #isNamed = new Map<string, boolean>();
  #identified: ServerIdentity | Failed | null = null;
  /** Who is told of messages, by channel. */
  readonly #ears = new Map<string, () => void>();
  /** The greeting of a server that speaks RESP3, or why it does not; null: it was not asked. */
  #speaks3: Promise<unknown | Failed> | null = null;

  private constructor({ client, access, canSpeak3 }: OpenedClient, clock: Clock) {
    this.#client = client;
    this.#canSpeak3 = canSpeak3;
    this.#clock = clock;
    this.identity = this.#introduce(access);
  }

  /** Connects and sends AUTH, INFO server and ROLE without waiting for their answers. */
  static async dial(origin: Origin, clock: Clock): Promise<Connection | Failed> {
    const opened = await openClient(origin);
    return isFailed(opened) ? opened : new Connection(opened, clock);
  }

  /** Who answers; null until that is known. */
  get identified(): ServerIdentity | Failed | null {
    return this.#identified;
  }

  get isOpen(): boolean {
    return this.#client.status === 'ready';
  }

  /** For how long the oldest request has been waiting for its answer; 0 when none is. */
  get silentMs(): number {
    const [oldest] = this.#unanswered.values();
    return oldest === undefined ? 0 : this.#clock.now() - oldest;
  }

  /** Runs a script in one step on the server. Sent before this returns its promise, or never. */
  eval(script: string, keys: readonly string[], ...words: (string | number)[]): Promise<unknown | Failed> {
    return this.#send(() => this.#client.eval(script, keys.length, ...keys, ...words));
  }

  /**
   * The same for what may fail: once the script has been answered on this connection it is sent by its digest, which spares the server
   * half the work. One that has forgotten it (SCRIPT FLUSH) does nothing and says so: a Failed, after which the script is sent whole
   * again. It is not sent anew from here, where it could overtake a release made since.
   */
  run({ script, keys, words }: ScriptCall): Promise<unknown | Failed> {
    const send = this.#isNamed.get(script)
      ? () => this.#client.evalsha(digestOf(script), keys.length, ...keys, ...words)
      : () => this.#client.eval(script, keys.length, ...keys, ...words);
    return this.#send(send, script);
  }

  /**
   * Calls back for every message on the channel from now on; resolves with null when the server has confirmed that. Only a server
   * and a client that speak RESP3 have messages on a connection for commands: with others, and on any trouble, a Failed.
   */
  async hear(channel: string, onMessage: () => void): Promise<Failed | null> {
    if (!this.#canSpeak3) return failed('reply', 'a client that may not understand RESP3');
    this.#speaks3 ??= this.#send(() => this.#client.call('HELLO', '3'));
    const greeting = await this.#speaks3;
    if (isFailed(greeting)) return greeting;
    // What the client was told when it was made. Nothing comes unasked until the SUBSCRIBE below, so this is in time.
    if (this.#client.condition) this.#client.condition.protocol = 3;
    if (this.#ears.size === 0) this.#client.on('message', (from: string) => this.#ears.get(from)?.());
    this.#ears.set(channel, onMessage);
    const reply = await this.#send(() => this.#client.subscribe(channel));
    return isFailed(reply) ? reply : null;
  }

  /** Runs one command; the reply is as Redis gives it. Sent before this returns its promise, or never. */
  call(command: string, ...words: (string | number)[]): Promise<unknown | Failed> {
    return this.#send(() => this.#client.call(command, ...words));
  }

  /** Ends the connection after everything sent so far has been handed to the kernel. */
  close(): void {
    this.#client.disconnect();
  }

  async #introduce(access: Promise<Failed | null>): Promise<ServerIdentity | Failed> {
    const [refused, info, role] = await Promise.all([
      access,
      this.#send(() => this.#client.info('server')),
      this.#send(() => this.#client.call('ROLE')),
    ]);
    if (refused) return refused;
    // Not allowed to ask is no trouble (some ACLs forbid INFO); not logged in is.
    if (isFailed(info) && info.message.startsWith('NOAUTH')) return info;
    this.#identified = parseIdentity(typeof info === 'string' ? info : null, role, this.#clock.now());
    return this.#identified;
  }

  /** A section of INFO by field, or all of it; empty where the server refuses to tell. */
  async facts(...sections: string[]): Promise<Readonly<Record<string, string>>> {
    const info = await this.#send(() => this.#client.info(...sections));
    const lines = typeof info === 'string' ? info.split('\r\n') : [];
    return Object.fromEntries(
      lines.filter((line) => line.includes(':')).map((line) => splitAt(line, line.indexOf(':'))),
    );
  }

  /** Whether the server writes every change to disk before it answers, so that a restart forgets nothing. */
  async survivesRestart(): Promise<boolean> {
    const [persistence, policy] = await Promise.all([
      this.#send(() => this.#client.info('persistence')),
      this.#send(() => this.#client.call('CONFIG', 'GET', 'appendfsync')),
    ]);
    return /^aof_enabled:1/m.test(String(persistence)) && Array.isArray(policy) && policy[1] === 'always';
  }

  async #send(command: () => Promise<unknown>, script: string | null = null): Promise<unknown | Failed> {
    const request = this.#requestCount;
    this.#requestCount += 1;
    this.#unanswered.set(request, this.#clock.now());
    try {
      const reply = await command();
      if (script !== null && !this.#isNamed.has(script)) this.#isNamed.set(script, true);
      return reply;
    } catch (error) {
      return this.#failedBy(error, script);
    } finally {
      this.#unanswered.delete(request);
    }
  }

  #failedBy(error: unknown, script: string | null): Failed {
    const failure = failedBy(error);
    if (failure.cause === 'connection') this.close();
    if (script === null || !forgottenReply.test(failure.message)) return failure;
    this.#isNamed.set(script, false);
    return failed('reply', failure.message);
  }
}

function splitAt(line: string, place: number): [string, string] {
  return [line.slice(0, place), line.slice(place + 1)];
}
