// One connection for commands to one server. It ends at the first error; for another one, dial
// again. It asks for the server's identity before the first command, without waiting: a connection
// keeps its order, so that answer comes before the one to the command.

import type { Redis } from 'ioredis';
import { type Clock, sleepAwake } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import { bytesOf } from '../../text/bytes.ts';
import type { ScriptCall } from '../calls/script-calls.ts';
import { failed, isFailed } from '../errors.ts';
import { hasCrdtSection, parseIdentity, type ServerIdentity } from '../identity.ts';
import { typeOfKey } from '../keys.ts';
import { textsOf } from '../replies.ts';
import { kindOfError } from '../server-kinds.ts';
import type { OpenedClient, Origin } from './client.ts';
import { openMaster } from './sentinels.ts';

/** How a server refuses any request of a client that has not logged in. */
const loginMissing = /^NOAUTH\b|unauthenticated/;

/** The first step in which the silence of a server is measured. */
const minSilenceMs = 1_000;

/** A script, or one command with its arguments. */
export type ExactRequest = ScriptCall | readonly [command: string, ...args: (string | number)[]];

export class Connection {
  /**
   * The server's identity; known before the reply to the first command. Failed: it could not be
   * asked, and what else is asked on this connection is worth nothing.
   */
  readonly identity: Promise<ServerIdentity | Failed>;
  /** The same; null until it is known. */
  identified: ServerIdentity | Failed | null = null;
  /** Why the server can never vote, as far as an error reply has shown; null: none has. */
  rejection: Failed | null = null;
  /**
   * For how many ms in which this process ran the server has owed an answer and sent none. In
   * steps: one second, and then each time twice as long as before.
   */
  silentMs = 0;
  /** A password was given, and the server has asked for none. */
  readonly isLoginIdle: boolean;
  readonly #client: Redis;
  readonly #clock: Clock;
  #unansweredCount = 0;
  /** Aborts with the next answer. */
  #silence: AbortController | null = null;
  readonly #ask: OpenedClient['ask'];
  readonly #whyFailed: OpenedClient['whyFailed'];
  #isClosed = false;
  #promotedAs: string | null | undefined;

  private constructor(
    { client, ask, whyFailed, isLoginIdle }: OpenedClient,
    clock: Clock,
    mark: ScriptCall | null,
  ) {
    this.isLoginIdle = isLoginIdle;
    this.#client = client;
    this.#ask = ask;
    this.#whyFailed = whyFailed;
    this.#clock = clock;
    this.identity = this.#identify(mark);
  }

  /**
   * Connects, logs in, and sends INFO server, ROLE and the script `mark` (null: none) without
   * waiting for their answers. A server whose reply has more than `maxReplyBytes` loses the
   * connection.
   */
  static async dial(
    origin: Origin,
    clock: Clock,
    maxReplyBytes: number,
    mark: ScriptCall | null,
  ): Promise<Connection | Failed> {
    const opened = await openMaster(origin, clock, maxReplyBytes, true);
    return isFailed(opened) ? opened : new Connection(opened, clock, mark);
  }

  get isOpen(): boolean {
    return !this.#isClosed && this.#client.status === 'ready';
  }

  /**
   * Runs a script in one step on the server. It is sent before this returns its promise, or never.
   */
  eval({ script, keys, args }: ScriptCall): Promise<unknown | Failed> {
    return this.#send(() => this.#client.eval(script, keys.length, ...keys, ...args));
  }

  /** Runs a script. If it fails because a key has the wrong type, the failure names that key. */
  async run(call: ScriptCall): Promise<unknown | Failed> {
    const reply = await this.eval(call);
    if (isFailed(reply) && kindOfError(reply.message)?.isStale) this.giveUp();
    return isFailed(reply) && reply.message.startsWith('WRONGTYPE')
      ? this.#wrongTypeAmong(call.keys, reply)
      : reply;
  }

  /** Runs one command. It is sent before this returns its promise, or never. */
  call(command: string, ...args: (string | number)[]): Promise<unknown | Failed> {
    return this.#send(() => this.#client.call(command, ...args));
  }

  /** Sent and answered exact to the byte: what is no UTF-8 becomes text by textOf. */
  exactly(request: ExactRequest): Promise<unknown | Failed> {
    const evaluating = ({ script, keys, args }: ScriptCall) =>
      ['EVAL', script, keys.length, ...keys, ...args] as const;
    const [command, ...args] = 'script' in request ? evaluating(request) : request;
    const sent = args.map((word) => (typeof word === 'number' ? word : bytesOf(word)));
    return this.#send(async () => textsOf(await this.#client.callBuffer(command, ...sent)));
  }

  /**
   * The next request dials anew: another server may answer at the address by now, or this one have
   * become another kind. Not while a request is under way, which its release on another connection
   * must not overtake.
   */
  giveUp(): void {
    if (this.#unansweredCount === 0) this.close();
  }

  /**
   * Closes when every answer has come, or at this instant. A release must not be sent and left:
   * Redis reads 16 kB at a time, drops a client that has gone at the first answer that it cannot
   * write to it, and with it what it has not read yet.
   */
  async end(endsAt: number): Promise<void> {
    while (this.#silence !== null && !this.#isClosed && this.#clock.now() < endsAt) {
      await sleepAwake(this.#clock, endsAt - this.#clock.now(), this.#silence.signal);
    }
    this.close();
  }

  /** Ends the connection after everything sent so far has been passed to the kernel. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A client that has ended would only set a timer, which keeps the program alive.
    if (this.#client.status !== 'end') this.#client.disconnect();
  }

  async #identify(markCall: ScriptCall | null): Promise<ServerIdentity | Failed> {
    // One write, with the first command: a server that refuses every client sends why and closes
    // the connection at once, and a second write would fail before that is read.
    const { stream } = this.#client;
    stream.cork();
    process.nextTick(() => stream.uncork());
    const [info, role, mark] = await Promise.all([
      this.#send(() => this.#client.info('server')),
      this.#send(() => this.#client.call('ROLE')),
      markCall && this.eval(markCall),
    ]);
    const server = typeof info === 'string' ? info : null;
    const isMore = server !== null && hasCrdtSection(server);
    const more = isMore ? await this.#send(() => this.#client.info('crdt')) : null;
    const unanswered = [info, role, mark, more].find(isUnanswered);
    if (unanswered) return unanswered;
    const all = typeof more === 'string' ? `${server}\n${more}` : server;
    this.identified = parseIdentity(all, role, this.#clock.now(), mark);
    return this.identified;
  }

  /** Sections of INFO by field, or all of it; empty where the server refuses it. */
  async facts(...sections: string[]): Promise<Readonly<Record<string, string>>> {
    const info = await this.#send(() => this.#client.info(...sections));
    const lines = typeof info === 'string' ? info.matchAll(/^([^:\r\n]*):(.*)$/gm) : [];
    return Object.fromEntries([...lines].map(([, field, value]) => [field, value]));
  }

  /**
   * Whether the server fsyncs every change before it answers, so that a restart forgets nothing.
   */
  async survivesRestart(): Promise<boolean> {
    const [persistence, policy] = await Promise.all([
      this.#send(() => this.#client.info('persistence')),
      this.#send(() => this.#client.call('CONFIG', 'GET', 'appendfsync')),
    ]);
    return (
      /^aof_enabled:1/m.test(String(persistence)) && Array.isArray(policy) && policy[1] === 'always'
    );
  }

  /**
   * The replication id under which a former replica has become a primary; null: it was never a
   * replica since its start, or does not report it.
   */
  async promotedAs(): Promise<string | null | Failed> {
    if (this.#promotedAs !== undefined) return this.#promotedAs;
    const reply = await this.#send(() => this.#client.info('replication'));
    if (isUnanswered(reply)) return reply;
    const info = String(reply);
    const id = (field: string) => new RegExp(`^${field}:(\\w{1,64})`, 'm').exec(info)?.[1] ?? '';
    this.#promotedAs = /[^0]/.test(id('master_replid2')) ? id('master_replid') : null;
    return this.#promotedAs;
  }

  async #send(command: () => Promise<unknown>): Promise<unknown | Failed> {
    this.#unansweredCount += 1;
    if (this.#silence === null) void this.#countSilence();
    try {
      const reply = await this.#ask(command);
      // A map of RESP3 is never an answer, and may look like a Failed.
      return typeof reply === 'object' && !Array.isArray(reply) && !(reply instanceof Buffer)
        ? null
        : reply;
    } catch (error) {
      return this.#failedBy(error);
    } finally {
      this.#unansweredCount -= 1;
      this.#silence?.abort('answered'); // By itself it would make an error with a stack.
      this.#silence = null;
      this.silentMs = 0;
      if (this.#unansweredCount > 0) void this.#countSilence();
    }
  }

  /** Until the next answer. */
  async #countSilence(): Promise<void> {
    const silence = new AbortController();
    this.#silence = silence;
    for (;;) {
      const ms = Math.max(minSilenceMs, this.silentMs);
      await sleepAwake(this.#clock, ms, silence.signal);
      if (silence.signal.aborted) return;
      this.silentMs += ms;
    }
  }

  async #wrongTypeAmong(keys: readonly string[], reply: Failed): Promise<Failed> {
    const types = await Promise.all(keys.map((key) => this.call('TYPE', key)));
    for (const [index, key] of keys.entries()) {
      const type = types[index];
      // A server may refuse TYPE (ACL), and then the type is not known.
      if (typeof type !== 'string' || [typeOfKey(key), 'none'].includes(type)) continue;
      const why = `the key ${key} is a ${type}, which no lock has made (delete it)`;
      return failed('reply', why);
    }
    return reply;
  }

  #failedBy(error: unknown): Failed {
    const failure = this.#whyFailed(error);
    if (failure.cause === 'misconfigured') this.rejection = failure;
    if (failure.cause === 'connection') this.close();
    return failure;
  }
}

/**
 * Whether the server could not answer for now: it is busy, it loads, the connection broke. Then it
 * must be asked again. What it refuses for good (some ACLs forbid INFO) is an answer.
 */
function isUnanswered(reply: unknown): reply is Failed {
  if (!isFailed(reply)) return false;
  const { cause, message } = reply;
  return cause === 'connection' || kindOfError(message) !== null || loginMissing.test(message);
}
