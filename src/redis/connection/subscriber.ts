// The connection on which one server wakes all waiters of this program, beside the one for
// commands. It is read here and not by ioredis, which ends the program when a server confirms a
// subscription in another form. When it breaks, waiters poll, and the next attempt of a waiter
// makes a new one. A server that sends more than it may is cut off until then, too.

import type { Redis } from 'ioredis';
import type { Clock, Subscription } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import { failed, failedBy, isFailed, replyError } from '../errors.ts';
import { inTime, maxReplyBytes, type OpenedClient, type Origin } from './client.ts';
import { readInTurns } from './reply-guard.ts';
import { openMaster } from './sentinels.ts';

type Listener = (message: string) => void;

export class Subscriber {
  readonly #origin: Origin;
  readonly #clock: Clock;
  /** The callbacks for messages, by channel. */
  readonly #listeners = new Map<string, Listener>();
  #connection: Promise<SubscriberConnection | Failed> | null = null;

  constructor(origin: Origin, clock: Clock) {
    this.#origin = origin;
    this.#clock = clock;
  }

  /** Resolves when the server has confirmed the subscription to these channels. */
  async subscribe(
    channels: readonly string[],
    onMessage: Listener,
  ): Promise<Subscription | Failed> {
    for (const channel of channels) this.#listeners.set(channel, onMessage);
    const close = () => {
      for (const channel of channels) {
        if (this.#listeners.get(channel) === onMessage) this.#listeners.delete(channel);
      }
      // Channels are not unsubscribed one by one: nobody wakes a waiter that has left the queue.
      if (this.#listeners.size === 0) this.close();
    };
    const problem = await this.#confirmed(channels);
    if (problem === null) return { close };
    close();
    return problem;
  }

  /** Subscribes again where the connection has broken. */
  resubscribe(): void {
    if (this.#connection === null && this.#listeners.size > 0)
      void this.#confirmed([...this.#listeners.keys()]);
  }

  close(): void {
    void this.#connection?.then((connection) => isFailed(connection) || connection.close());
    this.#connection = null;
  }

  async #confirmed(channels: readonly string[]): Promise<Failed | null> {
    this.#connection ??= this.#dialled();
    const connection = await this.#connection;
    return isFailed(connection) ? connection : connection.subscribe(channels);
  }

  #dialled(): Promise<SubscriberConnection | Failed> {
    const forget = () => {
      if (this.#connection === connection) this.#connection = null;
    };
    const listenerOf = (channel: string) => this.#listeners.get(channel);
    const connection = SubscriberConnection.dial(this.#origin, this.#clock, listenerOf, forget);
    void connection.then((dialled) => isFailed(dialled) && forget());
    return connection;
  }
}

/** The most bytes of an incomplete message: a channel has some kilobytes at most. */
const maxUnread = 65_536;

/**
 * How much a server may send, in bytes; a message counts as `perMessage` more than it has. A holder
 * expects a few messages in its life, a waiter a few in a second. A program that waits for many
 * locks expects more, so each channel that it subscribes to counts as well.
 */
const allowance = { perSecond: 65_536, perChannel: 10_240, perMessage: 1_024 };

class SubscriberConnection {
  readonly #client: Redis;
  readonly #clock: Clock;
  readonly #listenerOf: (channel: string) => Listener | undefined;
  readonly #onEnd: () => void;
  /** Called with the confirmation of a channel. */
  readonly #unconfirmed = new Map<string, (problem: Failed | null) => void>();
  /** Each character is a byte. */
  #unread = '';
  /** What the server may send, as of `#grantedAt`. */
  #allowance = allowance.perSecond;
  #grantedAt: number;
  #ended: Failed | null = null;

  private constructor(
    opened: OpenedClient,
    clock: Clock,
    listenerOf: (channel: string) => Listener | undefined,
    onEnd: () => void,
  ) {
    this.#client = opened.client;
    this.#clock = clock;
    this.#grantedAt = clock.now();
    this.#listenerOf = listenerOf;
    this.#onEnd = onEnd;
    const { stream } = opened.client;
    readInTurns(stream, (chunk) => this.#read(chunk));
    stream.on('close', () => this.#end(opened.whyFailed(new Error('Connection is closed.'))));
  }

  /** Connects and logs in; resolves when ioredis waits for no more replies. */
  static async dial(
    origin: Origin,
    clock: Clock,
    listenerOf: (channel: string) => Listener | undefined,
    onEnd: () => void,
  ): Promise<SubscriberConnection | Failed> {
    const opened = await openMaster(origin, clock, maxReplyBytes.brief, false);
    if (isFailed(opened)) return opened;
    const { client, ask, whyFailed } = opened;
    // A client that logs in by itself does not report when it has: this answer comes after that.
    if ('duplicate' in origin) {
      await inTime(
        client,
        clock,
        ask(() => client.call('ROLE')).catch(() => null),
      );
    }
    if (client.status === 'ready')
      return new SubscriberConnection(opened, clock, listenerOf, onEnd);
    if (client.status !== 'end') client.disconnect();
    return whyFailed(new Error('Connection is closed.'));
  }

  async subscribe(channels: readonly string[]): Promise<Failed | null> {
    if (this.#ended) return this.#ended;
    this.#allowance += channels.length * allowance.perChannel;
    const confirmed = channels.map(
      (channel) => new Promise<Failed | null>((resolve) => this.#unconfirmed.set(channel, resolve)),
    );
    this.#client.stream.write(commandOf('SUBSCRIBE', ...channels));
    const problems = await Promise.all(confirmed);
    return problems.find((problem) => problem !== null) ?? null;
  }

  close(): void {
    this.#end(failed('connection', 'connection closed'));
  }

  #end(problem: Failed): void {
    if (this.#ended) return;
    this.#ended = problem;
    if (this.#client.status !== 'end') this.#client.disconnect();
    for (const confirm of this.#unconfirmed.values()) confirm(problem);
    this.#unconfirmed.clear();
    this.#onEnd();
  }

  /** The server is not waited for: it might go on sending. */
  #cutOff(problem: Failed): void {
    this.#end(problem);
    this.#client.stream.destroy();
  }

  /** Whether the server may send this message, which is counted. */
  #isAllowed(byteCount: number): boolean {
    const { perSecond, perMessage } = allowance;
    const now = this.#clock.now();
    const earned = ((now - this.#grantedAt) * perSecond) / 1_000;
    const most = Math.max(this.#allowance, perSecond);
    this.#allowance = Math.min(this.#allowance + earned, most) - byteCount - perMessage;
    this.#grantedAt = now;
    return this.#allowance >= 0;
  }

  #read(chunk: Buffer): void {
    if (this.#ended) return;
    this.#unread += chunk.toString('latin1');
    for (;;) {
      const message = messageIn(this.#unread);
      if (message === null && this.#unread.length <= maxUnread) return;
      if (message === null || isFailed(message)) return this.#cutOff(message ?? unexpected);
      if (!this.#isAllowed(message.length)) return this.#cutOff(tooMuch);
      this.#unread = this.#unread.slice(message.length);
      const channel = Buffer.from(message.channel, 'latin1').toString();
      if (message.kind === 'message') {
        this.#listenerOf(channel)?.(Buffer.from(message.payload, 'latin1').toString());
      } else {
        this.#unconfirmed.get(channel)?.(null);
        this.#unconfirmed.delete(channel);
      }
    }
  }
}

const unexpected = failed('reply', 'unexpected reply to SUBSCRIBE');
const tooMuch = failed('connection', 'too many messages');

interface Message {
  readonly kind: 'subscribe' | 'message';
  readonly channel: string;
  /** Empty for a wake-up. */
  readonly payload: string;
  /** In bytes. */
  readonly length: number;
}

/** The first message in these bytes, a list of three items; null: it is incomplete. */
function messageIn(bytes: string): Message | Failed | null {
  if (bytes.startsWith('-')) {
    const end = bytes.indexOf('\r\n');
    return end < 0 ? null : failedBy(replyError(bytes.slice(1, end)));
  }
  const list = '*3\r\n';
  if (!list.startsWith(bytes.slice(0, list.length))) return unexpected;
  let at = list.length;
  const items: string[] = [];
  while (items.length < 3) {
    const line = bytes.slice(at, at + 16);
    const [header, type, number = ''] = /^([$:])(\d{1,12})\r\n/.exec(line) ?? [];
    const isWhole = line.includes('\r\n') || line.length === 16;
    if (header === undefined) return isWhole ? unexpected : null;
    const start = at + header.length;
    const end = start + Number(number);
    if (type === '$' && bytes.length < end + 2) return null;
    items.push(type === '$' ? bytes.slice(start, end) : number);
    at = type === '$' ? end + 2 : start;
  }
  const [kind, channel = '', payload = ''] = items;
  if (kind !== 'subscribe' && kind !== 'message') return unexpected;
  return { kind, channel, payload, length: at };
}

function commandOf(...args: readonly string[]): string {
  const texts = args.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${args.length}\r\n${texts.join('')}`;
}
