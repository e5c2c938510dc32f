// One master of a small world: the memory of a simulated server, and what the checks of a small
// world have to know of its past.

import type { ScriptName } from '../../../src/redis/calls/scripts.ts';
import { epochMs } from '../machine.ts';
import { SimRedis } from '../sim-redis.ts';
import { answerOf } from '../sim-server.ts';
import type { System } from '../system.ts';
import type { World } from '../world.ts';
import { type Answer, asksForMark, type Request } from './line.ts';
import { counter, key, prefix, ttlMs } from './setting.ts';

type Words = readonly (string | number)[];

/** What a script did, for the checks. */
export interface Effect {
  readonly script: ScriptName;
  readonly value: string;
  /** The value under the key before and after it. */
  readonly before: string | null;
  readonly after: string | null;
  /** Whether it changed that value or how long it lasts. */
  readonly hasChanged: boolean;
  readonly isRefusal: boolean;
}

export class SmallMaster {
  readonly redis: SimRedis;
  /** The values that it held when it lost its memory. */
  readonly forgot = new Set<string>();
  /** The values that a request on a broken connection has set: their release came before it. */
  readonly setTooLate = new Set<string>();
  readonly #number: number;
  readonly #world: World;
  readonly #scriptNamed: System['scriptNamed'];
  readonly #isDurable: boolean;
  #startedAt = -86_400_000;
  #startCount = 1;

  constructor(
    world: World,
    number: number,
    redis: SimRedis,
    scriptNamed: System['scriptNamed'],
    isDurable: boolean,
  ) {
    this.#isDurable = isDurable;
    this.#number = number;
    this.#world = world;
    this.#scriptNamed = scriptNamed;
    this.redis = redis;
  }

  /** Whether it has any memory to lose. */
  get isEmpty(): boolean {
    return this.redis.keys().length === 0;
  }

  /** It was down for no time at all: longer outages are answers that come late. */
  restart(isForgetting: boolean): void {
    const holder = this.redis.get(key);
    if (isForgetting) {
      if (holder !== null) this.forgot.add(holder);
      this.redis.restore(null);
    }
    this.#startedAt = this.#world.now;
    this.#startCount += 1;
  }

  /** Does what is asked, in one step each. */
  answer({ commands }: Request): { readonly answer: Answer; readonly effects: readonly Effect[] } {
    const effects: Effect[] = [];
    const replies = commands.map((args) => this.#reply(args, effects));
    const texts = replies.map((reply, index) => {
      if (commands[index]?.[1] === 'server') return this.#start;
      return asksForMark(commands[index] ?? []) ? this.#markText : textOf(reply);
    });
    return { answer: { replies, text: texts.join(' ') }, effects };
  }

  /** What future behaviour depends on; equal texts behave alike. `isLive`: a value in use. */
  textFor(isLive: (value: string) => boolean): string {
    const { redis } = this;
    const holder = redis.get(key);
    const held = holder === null ? '' : `${holder}:${redis.remainingMs(key)}`;
    const forgot = [...this.forgot].filter(isLive);
    const past = [forgot, [...this.setTooLate].filter(isLive)].join('/');
    const start = this.#start + this.#markText;
    return `${held},${redis.get(counter) ?? ''},${start},${past}`;
  }

  /** The key expires, and not later than one ttl after this instant; null: or else why not. */
  get overstay(): string | null {
    if (this.redis.get(key) === null) return null;
    const remainingMs = this.redis.remainingMs(key);
    if (remainingMs === null) return 'a key never expires';
    return remainingMs > ttlMs ? `a key stays for another ${remainingMs} ms` : null;
  }

  /** The same for all masters that never restarted. */
  get #start(): string {
    return this.#startCount === 1 ? '' : `${this.#startCount}@${this.#startedAt}`;
  }

  /** The same for all marks from before the world began. */
  get #markText(): string {
    const { mark, now } = this.redis;
    return mark === null || now - mark.since < 86_400_000 ? `m${mark?.since}` : '';
  }

  #reply([name, ...args]: Words, effects: Effect[]): unknown {
    if (name === 'INFO') {
      if (args[0] !== 'server') return `aof_enabled:${this.#isDurable ? 1 : 0}\r\n`;
      const seconds = Math.floor((this.#world.now - this.#startedAt) / 1000);
      const runId = `${this.#number}${this.#startCount}`.padEnd(40, '0');
      return `run_id:${runId}\r\nuptime_in_seconds:${seconds}\r\n`;
    }
    if (name === 'ROLE') return ['master', 0, []];
    if (name === 'CONFIG') return ['appendfsync', this.#isDurable ? 'always' : 'everysec'];
    const keyCount = Number(args[1]);
    const text = String(args[0]);
    const script = this.#scriptNamed(text);
    const before = this.redis.get(key);
    const leftMs = this.redis.remainingMs(key);
    const rest = args.slice(2 + keyCount);
    const reply = this.redis.run(text, script, args.slice(2, 2 + keyCount).map(String), rest);
    const after = this.redis.get(key);
    effects.push({
      script,
      value: String(rest[0]),
      before,
      after,
      hasChanged: after !== before || this.redis.remainingMs(key) !== leftMs,
      isRefusal: script === 'acquire' && Array.isArray(reply) && reply[0] === 0,
    });
    return answerOf(reply);
  }
}

function textOf(reply: unknown): string {
  return reply instanceof Error ? String(reply) : JSON.stringify(reply);
}

/**
 * `count`: what its counter stands at; null: it has none, and starts at the time of day.
 * `isDurable`: it fsyncs every change, which helps nothing when its disk is replaced.
 */
export function newMaster(
  world: World,
  { scriptNamed }: System,
  number: number,
  count: number | null,
  isDurable: boolean,
): SmallMaster {
  const redis = new SimRedis(world, { rate: 1, wallOffsetMs: 0 }, prefix);
  if (count !== null) redis.put(counter, String(epochMs * 1000 + count), 86_400_000);
  return new SmallMaster(world, number, redis, scriptNamed, isDurable);
}
