// One Redis server of the world: its memory (sim-redis.ts), its connections, and its troubles: it
// freezes, goes down, and comes back with all, some or none of its memory. A frozen server still
// accepts connections and bytes, as its kernel does, and executes all of it when it thaws.

import type { ScriptName } from '../../src/redis/calls/scripts.ts';
import type { Random } from './random.ts';
import type { Reply } from './sim-lua.ts';
import type { SimRedis } from './sim-redis.ts';
import { refusalInScript, refusalOf, type StartTrouble } from './start-troubles.ts';
import type { World } from './world.ts';

export type Command = readonly (string | number)[];
export type Answer = unknown;

/** The server's end of a connection. */
export interface Peer {
  answer(command: Command, answer: Answer): void;
  message(channel: string, message: string): void;
  /** The server has closed it in order. */
  hungUp(): void;
  /** The server is down: missing replies never come. */
  breakOff(): void;
}

export interface ServerOptions {
  /** Every change is on disk before the reply: a restart forgets nothing. */
  readonly isDurable: boolean;
  /** INFO is forbidden, as by some managed services. */
  readonly hidesInfo: boolean;
  readonly scriptNamed: (text: string) => ScriptName;
}

const longAgo = -86_400_000;

export class SimServer {
  readonly name: string;
  readonly redis: SimRedis;
  isDown = false;
  /** For the checkers, in true time: when another server last took over the address. */
  tookOverAt = longAgo;
  /** For the checkers: a message of a person was passed on to a holder. */
  onPassed: (message: string) => void = () => {};
  readonly #world: World;
  readonly #options: ServerOptions;
  readonly #random: Random;
  readonly #peers = new Set<Peer>();
  readonly #subscribers = new Map<string, Set<Peer>>();
  #isFrozen = false;
  /** What it cannot do yet, and until when. */
  #trouble: StartTrouble = 'loads';
  #troubledUntil = longAgo;
  #pending: (() => void)[] = [];
  #startedAt: number;
  #runId: string;
  /** The replication ids, its own and the one before, of a replica that was promoted. */
  #replication: readonly [string, string] | null = null;

  constructor(world: World, name: string, redis: SimRedis, options: ServerOptions) {
    this.#world = world;
    this.name = name;
    this.redis = redis;
    this.#options = options;
    if (redis.mark !== null) redis.mark = { ...redis.mark, id: `of ${name}` };
    this.#random = world.random.stream(`server ${name}`);
    this.#startedAt = longAgo;
    this.#runId = this.#newRunId();
    redis.refusalOf = (command) => refusalInScript(this.#startTrouble, command);
    redis.onPublish = (channel, message) => {
      const peers = this.#subscribers.get(channel);
      for (const peer of peers ?? []) peer.message(channel, message);
      return peers?.size ?? 0;
    };
  }

  get #startTrouble(): StartTrouble | null {
    return this.#world.now < this.#troubledUntil ? this.#trouble : null;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  accept(peer: Peer): void {
    this.#peers.add(peer);
  }

  leave(peer: Peer): void {
    this.#peers.delete(peer);
    for (const [channel, peers] of this.#subscribers)
      if (peers.delete(peer) && peers.size === 0) this.#subscribers.delete(channel);
  }

  receive(peer: Peer, command: Command): void {
    this.#do(() => {
      if (this.#peers.has(peer)) peer.answer(command, this.#answerTo(peer, command));
    });
  }

  /** The client sends no more: what it sent before is done first. */
  hangUp(peer: Peer): void {
    this.#do(() => {
      if (!this.#peers.has(peer)) return;
      this.leave(peer);
      peer.hungUp();
    });
  }

  freeze(): void {
    if (this.isDown || this.#isFrozen) return;
    this.#isFrozen = true;
    this.#world.note(this.name, 'freezes');
  }

  thaw(): void {
    if (!this.#isFrozen) return;
    this.#isFrozen = false;
    this.#world.note(this.name, 'thaws');
    const pending = this.#pending;
    this.#pending = [];
    for (const work of pending) work();
  }

  /** Every connection breaks. */
  cut(): void {
    this.#pending = [];
    for (const peer of this.#peers) peer.breakOff();
  }

  /** Every connection breaks, and none is made until `start`. */
  stop(): void {
    if (this.isDown) return;
    this.isDown = true;
    this.#isFrozen = false;
    this.#world.note(this.name, 'goes down');
    this.cut();
  }

  start(trouble: StartTrouble = 'loads', troubledForMs = 0): void {
    if (!this.isDown) return;
    this.isDown = false;
    this.#startedAt = this.#world.now;
    this.#trouble = trouble;
    this.#troubledUntil = this.#world.now + troubledForMs;
    this.#runId = this.#newRunId();
    const isWell = troubledForMs === 0;
    this.#world.note(this.name, isWell ? 'is up' : `${trouble} for ${troubledForMs} ms`);
  }

  /**
   * After `stop`: another server answers at the address from now on, which has run for long. It
   * says that it was a replica, or nothing about that.
   */
  takeOver(saysSo: boolean): void {
    if (!this.isDown) return;
    this.isDown = false;
    this.#startedAt = longAgo;
    this.#runId = this.#newRunId();
    this.tookOverAt = this.#world.now;
    this.#replication = saysSo ? [this.#newRunId(), this.#newRunId()] : null;
    this.#world.note(this.name, 'is another server now');
  }

  #do(work: () => void): void {
    if (this.#isFrozen) this.#pending.push(work);
    else work();
  }

  #answerTo(peer: Peer, command: Command): Answer {
    const refusal = refusalOf(this.#startTrouble, String(command[0] ?? ''));
    return refusal === null ? this.#startedAnswerTo(peer, command) : replyError(refusal);
  }

  #startedAnswerTo(peer: Peer, [name, ...args]: Command): Answer {
    const { isDurable, hidesInfo, scriptNamed } = this.#options;
    switch (name) {
      case 'EVAL': {
        const keyCount = Number(args[1]);
        const keys = args.slice(2, 2 + keyCount).map(String);
        const text = String(args[0]);
        return answerOf(this.redis.run(text, scriptNamed(text), keys, args.slice(2 + keyCount)));
      }
      case 'INFO':
        if (hidesInfo)
          return replyError("NOPERM this user has no permissions to run the 'info' command");
        if (args[0] === 'replication') return this.#replicationInfo();
        return args[0] === 'server'
          ? this.#info()
          : `# Persistence\r\naof_enabled:${isDurable ? 1 : 0}\r\n`;
      case 'ROLE':
        return ['master', this.#replication === null ? 0 : 1, []];
      case 'CONFIG':
        return ['appendfsync', isDurable ? 'always' : 'everysec'];
      case 'SUBSCRIBE': {
        for (const channel of args.map(String)) {
          this.#subscribers.set(channel, (this.#subscribers.get(channel) ?? new Set()).add(peer));
        }
        return args.length;
      }
      case 'PUBLISH': {
        const [channel = '', message = ''] = args.map(String);
        const count = this.redis.onPublish(channel, message);
        if (count > 0 && message !== '') this.onPassed(message);
        return count;
      }
      default:
        return answerOf(this.redis.command([String(name), ...args.map(String)]));
    }
  }

  #info(): string {
    // As Redis counts: both instants are cut off to whole seconds first.
    const [now = 0, startedAt = 0] = [this.#world.now, this.#startedAt].map((at) =>
      Math.floor(at / 1000),
    );
    const uptimeSeconds = now - startedAt;
    return `# Server\r\nrun_id:${this.#runId}\r\nuptime_in_seconds:${uptimeSeconds}\r\n`;
  }

  #replicationInfo(): string {
    const [id, before] = this.#replication ?? [this.#runId, '0'.repeat(40)];
    return `# Replication\r\nmaster_replid:${id}\r\nmaster_replid2:${before}\r\n`;
  }

  #newRunId(): string {
    return Array.from({ length: 40 }, () => this.#random.integer(0, 15).toString(16)).join('');
  }
}

/** As a client gets a reply: a status is its text, an error is thrown. */
export function answerOf(reply: Reply): Answer {
  if (reply === null || typeof reply !== 'object') return reply;
  if ('err' in reply) return replyError(reply.err);
  return 'ok' in reply ? reply.ok : reply;
}

function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}
