// One client of a small world: the lock that ships, over the connections of the explorer. What it
// begins and when is a step of the explorer; all that follows is the code of src/.

import type { Clock } from '../../../src/lock/ports.ts';
import { defaultDriftFactor } from '../../../src/lock/quorum.ts';
import type { Redlock } from '../../../src/lock/redlock.ts';
import { type Attempt, alone, type Claim, type Lease } from '../../../src/lock/types.ts';
import { defaultHistoryBytes } from '../../../src/redis/calls/script-calls.ts';
import type { ScriptName } from '../../../src/redis/calls/scripts.ts';
import type { Server } from '../../../src/redis/server.ts';
import { epochMs } from '../machine.ts';
import type { System } from '../system.ts';
import { asksForMark, Line, originOf } from './line.ts';
import {
  type Budget,
  masterTimeoutMs,
  prefix,
  reserveMs,
  resource,
  restartGraceMs,
  type Setting,
  ttlMs,
} from './setting.ts';

export type Act = 'acquire' | 'extend' | 'release';

/** What the world is told of. */
export interface Around {
  readonly system: System;
  readonly setting: Setting;
  readonly now: () => number;
  readonly sleep: Clock['sleep'];
  readonly crash: (error: unknown) => void;
  /** An attempt has ended. */
  readonly onAttempt: (claim: Claim, attempt: Attempt) => void;
  readonly onAcquired: (client: SmallClient, lease: Lease) => void;
  readonly onSend: (
    client: SmallClient,
    master: number,
    script: ScriptName | null,
    args: readonly unknown[],
  ) => void;
}

export class SmallClient {
  readonly name: string;
  /** By master, each connection that was made and is not over. */
  readonly lines: Line[][];
  lease: Lease | null = null;
  /** The value of the attempt under way. */
  attempting: string | null = null;
  isAcquiring = false;
  isExtending = false;
  acquiresLeft: number;
  extendsLeft: number;
  /** When what is under way began. */
  beganAt = 0;
  /** What it has read from each master that may still matter. */
  readonly #heard: Heard[][];
  /** Whether the last acquire of a master was refused, and no repair was sent there since. */
  readonly #isRefused: boolean[];
  /** Whether a connection to a master has broken: then its past is never forgotten. */
  readonly #wasBroken: boolean[];
  /** Where the order of what was read matters, another interval begins. */
  #interval = 0;
  readonly #around: Around;
  readonly #redlock: Redlock;
  #ended = new AbortController();
  #valueCount = 0;

  constructor(name: string, budget: Budget, masterCount: number, around: Around) {
    this.name = name;
    this.acquiresLeft = budget.acquires;
    this.extendsLeft = budget.extends;
    this.#around = around;
    const { system, now, sleep } = around;
    const clock: Clock = { now, sleep };
    const registry = new system.ServerRegistry();
    const wallMs = () => epochMs + now();
    const historyBytes = defaultHistoryBytes;
    const settings = {
      prefix,
      restartGraceMs,
      historyBytes,
      protocol: 'redlock' as const,
      wallMs,
    };
    this.lines = Array.from({ length: masterCount }, () => []);
    this.#heard = this.lines.map(() => []);
    this.#isRefused = this.lines.map(() => false);
    this.#wasBroken = this.lines.map(() => false);
    const masters = this.lines.map((_, index) => {
      const origin = originOf(`${name}m${index}`, () => this.#connect(index));
      return new system.Server(origin, settings, registry, clock, 'lock');
    });
    this.#redlock = this.#observed(masters, clock);
  }

  /** What it may begin now. */
  get acts(): Act[] {
    const { lease } = this;
    if (this.isAcquiring) return [];
    if (lease === null) return this.acquiresLeft > 0 ? ['acquire'] : [];
    const isExtendable =
      !this.isExtending && this.extendsLeft > 0 && this.#around.now() < lease.validUntil;
    return isExtendable ? ['extend', 'release'] : ['release'];
  }

  act(act: Act): void {
    const { crash, setting } = this.#around;
    this.separate();
    if (act !== 'release') this.beganAt = this.#around.now();
    if (act === 'acquire') {
      this.acquiresLeft -= 1;
      this.isAcquiring = true;
      this.#ended = new AbortController();
      (setting.retries === null ? this.#attempt() : this.#wait(setting.retries)).catch(crash);
    } else if (act === 'extend') {
      this.extendsLeft -= 1;
      this.isExtending = true;
      this.#extend().catch(crash);
    } else if (this.lease !== null) {
      const { claim } = this.lease;
      this.lease = null;
      this.isExtending = false;
      this.#ended.abort();
      this.#redlock.release(claim, 0, null).catch(crash);
    }
  }

  /** Whether it believes that it holds the lock. */
  get isHolding(): boolean {
    return this.lease !== null && this.#around.now() < this.lease.validUntil;
  }

  /** Whether it has begun nothing yet. */
  get isUnused(): boolean {
    return this.#valueCount === 0;
  }

  /** Whether it will never begin anything again. */
  get isFinished(): boolean {
    return this.acquiresLeft === 0 && this.lease === null && !this.isAcquiring;
  }

  /** What it reads from now on counts as later than what it has read so far. */
  separate(): void {
    this.#interval += 1;
  }

  /** Reads the first answer of a connection. */
  read(master: number, line: Line): void {
    const { text, replies } = line.read();
    if (replies === null) this.#wasBroken[master] = true;
    if (replies?.some((reply) => Array.isArray(reply) && reply.length === 8))
      this.#isRefused[master] = true;
    this.#heard[master]?.push({ interval: this.#interval, text: `${line.number} ${text}` });
  }

  /**
   * Forgets what it has read from masters that owe it nothing and never failed, when nothing is
   * under way: then the lock knows of them only whether they may hold the value of the lease.
   */
  forget(): void {
    if (this.isAcquiring || this.isExtending) return;
    for (const [master, lines] of this.lines.entries()) {
      const isQuiet = lines.length <= 1 && lines.every((one) => one.isIdle);
      if (isQuiet && !this.#wasBroken[master]) this.#heard[master] = [];
    }
  }

  /** Forgets all but what a broken connection may still cause it to repeat: it is finished. */
  forgetOrder(): void {
    for (const [master, lines] of this.lines.entries()) {
      const isQuiet = lines.every((one) => one.isIdle);
      const heard = this.#heard[master] ?? [];
      this.#heard[master] = isQuiet ? [] : heard.map(({ text }) => ({ interval: 0, text }));
    }
    this.#interval = 0;
  }

  /** Its state but for what belongs to one master; equal texts behave alike. */
  get text(): string {
    const { lease } = this;
    const held = lease === null ? '' : `${lease.claim.value} ${lease.validUntil} ${lease.fence}`;
    const flags = [this.isAcquiring, this.isExtending].map(Number).join('');
    const left = `${this.acquiresLeft},${this.extendsLeft},${this.#valueCount}`;
    const isActing = this.isAcquiring || this.isExtending;
    return `${held}|${flags}|${left}|${isActing ? this.beganAt : ''}|${this.attempting}`;
  }

  /** Its state at each master. */
  texts(): string[] {
    // Only the order of the intervals counts.
    const used = new Set(this.#heard.flatMap((heard) => heard.map(({ interval }) => interval)));
    const order = [...used.add(this.#interval)].sort((a, b) => a - b);
    return this.lines.map((lines, master) => {
      const heard = (this.#heard[master] ?? []).map(
        ({ interval, text }) => `${order.indexOf(interval)}:${text}`,
      );
      const held = this.lease === null ? '' : Number(this.#isRefused[master]);
      return `${order.length}${held}${heard.join(';')}#${lines.map(textOf).join('#')}`;
    });
  }

  async #attempt(): Promise<void> {
    const attempt = await this.#redlock.attempt(this.#newClaim(), new AbortController().signal);
    this.#acquired(attempt.kind === 'acquired' ? attempt.lease : null);
  }

  async #wait(count: number): Promise<void> {
    const { system, now, sleep } = this.#around;
    const acquisition = await system.waitForLock({
      redlock: this.#redlock,
      clock: { now, sleep },
      random: () => 0,
      report: () => {},
      newClaim: () => this.#newClaim(),
      waiterId: this.name,
      waitMs: 0,
      giveUpAfterMs: 0,
      retries: { count, delayMs: 0, jitterMs: 0 },
      aborted: new AbortController().signal,
    });
    this.#acquired(acquisition.kind === 'acquired' ? acquisition.lease : null);
  }

  #acquired(lease: Lease | null): void {
    this.isAcquiring = false;
    this.separate();
    if (lease === null) return;
    this.lease = lease;
    this.#around.onAcquired(this, lease);
  }

  async #extend(): Promise<void> {
    const { lease } = this;
    if (lease === null) return;
    const ended = this.#ended.signal;
    const extension = await this.#redlock.extend(lease, ended);
    if (ended.aborted) return;
    this.isExtending = false;
    this.separate();
    if (extension.kind === 'extended') this.lease = extension.lease;
  }

  #newClaim(): Claim {
    this.#valueCount += 1;
    const value = `${this.name}.${this.#valueCount}`;
    const own = { resources: [resource], token: value, value, ttlMs };
    return { ...alone, ...own, isFenced: true, waiter: null };
  }

  #observed(masters: readonly Server[], clock: Clock): Redlock {
    const { system, onAttempt } = this.#around;
    const attempting = (value: string | null) => {
      this.attempting = value;
    };
    class Observed extends system.Redlock {
      override async attempt(...args: Parameters<Redlock['attempt']>): Promise<Attempt> {
        attempting(args[0].value);
        const attempt = await super.attempt(...args);
        onAttempt(args[0], attempt);
        attempting(null);
        return attempt;
      }
    }
    const settings = { masterTimeoutMs, reserveMs, driftFactor: defaultDriftFactor };
    return new Observed(masters, clock, settings, () => {});
  }

  #connect(index: number): Line {
    const lines = this.lines[index] ?? [];
    const line = new Line((lines.at(-1)?.number ?? -1) + 1);
    line.onSend = (args) => {
      const script = args[0] === 'EVAL' ? this.#around.system.scriptNamed(String(args[1])) : null;
      if (script === 'acquire' || script === 'repair') this.#isRefused[index] = false;
      this.#around.onSend(this, index, script, args);
    };
    lines.push(line);
    return line;
  }
}

/** What was read, and in which interval. */
interface Heard {
  readonly interval: number;
  readonly text: string;
}

function textOf(line: Line): string {
  const out = line.out.map(({ commands }) => commands.map(shortOf).join('+')).join('>');
  const back = line.back.map(({ text }) => text).join('<');
  const flags = [line.isOutCut, line.isBackCut, line.isKnownBroken, line.isEnding];
  const lost = line.lost.map(shortOf).join('>');
  return `${line.number}${flags.map(Number).join('')}${out}|${back}|${lost}`;
}

/** A script by the words behind its keys, which are the same for all. */
function shortOf(args: readonly (string | number)[]): string {
  // The id of a new mark is drawn.
  if (asksForMark(args)) return 'mark';
  if (args[0] !== 'EVAL') return String(args[1] ?? args[0]);
  return `${String(args[1]).length},${args.slice(3 + Number(args[2])).join()}`;
}
