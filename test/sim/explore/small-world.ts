// One small world as it is after some steps: its clients, its masters and the messages between
// them; which steps are possible; and what every state is checked for. *Note:* it cannot be copied,
// because the promises of the clients cannot: the explorer plays steps again from the beginning.

import type { Attempt, Claim, Lease } from '../../../src/lock/types.ts';
import type { ScriptName } from '../../../src/redis/calls/scripts.ts';
import type { System } from '../system.ts';
import { afterPromises, World } from '../world.ts';
import type { Line } from './line.ts';
import { key, type Setting, tickMs } from './setting.ts';
import { type Act, SmallClient } from './small-client.ts';
import { newMaster, type SmallMaster } from './small-master.ts';

export const properties = [
  /** At most one client believes that it holds the lock. */
  'exclusion',
  /** A quorum of masters shows the value of a holder, or has lost its memory since. */
  'honesty',
  /** No script changes the key of another value, nor how long it lasts. */
  'ownership',
  /** The number of a holder is larger than those of all before it. */
  'fence',
  /** A value is asked for on no master to which its release was sent. */
  'released',
  /** A key is repaired only for a holder. */
  'revived',
  /** A key expires, at most one ttl later. */
  'ttl',
  /** When all is done, no master has a key that no client holds. */
  'litter',
  /** A client is told "busy" only where another one was in its way. */
  'busy',
] as const;

export type Property = (typeof properties)[number];

export interface Finding {
  readonly property: Property;
  readonly what: string;
}

/** The number of masters is that of the letters. */
const masterNames = ['m1', 'm2', 'm3'] as const;
const quorum = 2;

/** A step: see `describe`. Masters and clients by index, connections by number. */
export interface Step {
  readonly kind: 'begin' | 'arrive' | 'read' | 'lose-requests' | 'lose-answers' | Alone;
  readonly client: number;
  readonly master: number;
  readonly line: number;
  readonly act: Act | null;
}

type Alone = 'restart' | 'restart-empty' | 'tick';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly client: SmallClient;
  readonly fire: () => void;
}

const idle: Omit<Step, 'kind'> = { client: -1, master: -1, line: -1, act: null };

export class SmallWorld {
  readonly #setting: Setting;
  readonly #world: World;
  readonly #clients: readonly SmallClient[];
  readonly #masters: readonly SmallMaster[];
  readonly #timers = new Set<Timer>();
  #ticksLeft: number;
  #lossesLeft: number;
  #crashesLeft: number;
  #largestFence = 0;
  #timerCount = 0;
  #finding: Finding | null = null;
  #crash: { readonly error: unknown } | null = null;
  /** Of this step: the masters that a client sent to, and the repairs that are not undone. */
  #sentTo = new Set<number>();
  /** Which releases were sent where. */
  readonly #released = new Set<string>();
  /** The masters that have refused a value. */
  readonly #refusedBy = new Map<string, Set<number>>();
  #repairs: Repair[] = [];

  constructor(setting: Setting, system: System) {
    this.#setting = setting;
    this.#world = new World(0);
    this.#ticksLeft = setting.ticks;
    this.#lossesLeft = setting.losses;
    this.#crashesLeft = setting.crashes;
    this.#masters = masterNames.map((_, index) =>
      newMaster(this.#world, system, index, setting.counts?.[index] ?? null, setting.isDurable),
    );
    this.#clients = setting.clients.map((budget, index) => {
      const name = 'abc'[index] as string;
      const around = {
        system,
        setting,
        now: () => this.#world.now,
        sleep: (ms: number, cancelled?: AbortSignal) => this.#sleep(client, ms, cancelled),
        crash: (error: unknown) => {
          this.#crash ??= { error };
        },
        onAttempt: (claim: Claim, attempt: Attempt) => this.#judgeAttempt(claim, attempt),
        onAcquired: (by: SmallClient, lease: Lease) => this.#judgeFence(by, lease),
        onSend: (
          by: SmallClient,
          master: number,
          script: ScriptName | null,
          args: readonly unknown[],
        ) => this.#noteSent(by, master, script, args),
      };
      const client: SmallClient = new SmallClient(name, budget, masterNames.length, around);
      return client;
    });
  }

  /** The first property that is broken; null: none is. */
  get finding(): Finding | null {
    return this.#finding;
  }

  /** The steps that are possible now. */
  steps(): Step[] {
    const steps: Step[] = [];
    let isAnythingUnderWay =
      this.#timers.size > 0 || this.#masters.some(({ redis }) => redis.get(key));
    const isNew = this.#clients.every(({ isUnused }) => isUnused);
    for (const [client, one] of this.#clients.entries()) {
      // Clients of equal budgets are interchangeable: the first begins.
      if (isNew && client > 0 && this.#isLikeTheFirst(client)) continue;
      for (const act of one.acts) steps.push({ ...idle, kind: 'begin', client, act });
      if (one.lease !== null) isAnythingUnderWay = true;
      for (const [master, lines] of one.lines.entries()) {
        for (const line of lines) {
          if (line.isOver) continue;
          const at = { ...idle, client, master, line: line.number };
          if (line.out.length > 0) steps.push({ ...at, kind: 'arrive' });
          if (line.back.length > 0) steps.push({ ...at, kind: 'read' });
          if (line.out.length + line.back.length > 0) isAnythingUnderWay = true;
          if (this.#lossesLeft === 0 || line.isBackCut) continue;
          if (line.out.length > 0) steps.push({ ...at, kind: 'lose-requests' });
          if (line.out.length + line.back.length > 0) steps.push({ ...at, kind: 'lose-answers' });
        }
      }
    }
    for (const [master, { isEmpty }] of this.#masters.entries()) {
      if (this.#crashesLeft === 0) break;
      if (this.#isUsed(master)) steps.push({ ...idle, kind: 'restart', master });
      if (!isEmpty) steps.push({ ...idle, kind: 'restart-empty', master });
    }
    if (this.#ticksLeft > 0 && isAnythingUnderWay) steps.push({ ...idle, kind: 'tick' });
    return steps;
  }

  /**
   * Takes a step, and all that the clients do in consequence. `isKnown`: the state that it leads to
   * was judged before.
   */
  async take(step: Step, isKnown = false): Promise<void> {
    this.#sentTo.clear();
    this.#repairs = [];
    await this.#do(step, isKnown);
    await this.#readTheRest();
    if (this.#crash) throw this.#crash.error;
    for (const [index, client] of this.#clients.entries()) {
      const isSending = [...this.#sentTo].some((one) => one !== step.master);
      if (step.client === index && isSending) client.separate();
      for (const [master, lines] of client.lines.entries()) {
        for (const line of lines) line.seal();
        client.lines[master] = lines.filter((line, at) => !line.isOver || at === lines.length - 1);
      }
      client.forget();
      if (this.#isThrough(client)) client.forgetOrder();
    }
    if (!isKnown) this.#judge();
  }

  /** The state as a text, the same for all orders of the masters. Equal texts behave alike. */
  state(): string {
    const texts = this.#clients.map((client) => client.texts());
    const parts = this.#masters.map((master, index) => {
      const messages = texts.map((each) => each[index]).join('~');
      const isInUse = (value: string) =>
        messages.includes(value) ||
        this.#clients.some((one) => one.attempting === value || one.lease?.claim.value === value);
      return `${master.textFor(isInUse)}~${messages}`;
    });
    const left = [this.#ticksLeft, this.#lossesLeft, this.#crashesLeft];
    const timers = [...this.#timers].map(({ at, client }) => `${client.name}${at}`).sort();
    const rest = [left, this.#world.now, this.#largestFence, timers];
    const clients = this.#clients.map(({ text }) => text);
    return [...rest, ...clients, ...parts.sort()].join('\n');
  }

  describe({ kind, client, master, line, act }: Step): string {
    const [who, where] = [this.#clients[client]?.name, masterNames[master]];
    const which = `${who} and ${where}${line > 0 ? `, connection ${line + 1}` : ''}`;
    switch (kind) {
      case 'begin':
        return `${who} begins to ${act}`;
      case 'arrive':
        return `a request arrives: ${which}`;
      case 'read':
        return `an answer arrives: ${which}`;
      case 'lose-requests':
        return `the connection breaks, requests are lost: ${which}`;
      case 'lose-answers':
        return `the connection breaks, answers are lost: ${which}`;
      case 'restart':
        return `${where} restarts`;
      case 'restart-empty':
        return `${where} restarts without its memory`;
      case 'tick':
        return 'time passes';
    }
  }

  async #do(step: Step, isKnown: boolean): Promise<void> {
    const { kind, client: at, master: where } = step;
    const client = this.#clients[at] as SmallClient;
    const master = this.#masters[where] as SmallMaster;
    const line = client?.lines[where]?.find(({ number }) => number === step.line) as Line;
    switch (kind) {
      case 'begin':
        client.act(step.act as Act);
        return settle();
      case 'arrive':
        return this.#arrive(client, where, line);
      case 'read':
        client.read(where, line);
        return settle();
      case 'lose-requests':
        this.#lossesLeft -= 1;
        return line.loseRequests();
      case 'lose-answers':
        this.#lossesLeft -= 1;
        return line.loseAnswers();
      case 'restart':
      case 'restart-empty':
        this.#crashesLeft -= 1;
        master.restart(kind === 'restart-empty');
        return this.#breakAll(where);
      case 'tick':
        return this.#tick(isKnown);
    }
  }

  /** Breaks all connections to a master. */
  #breakAll(master: number): void {
    for (const client of this.#clients)
      for (const line of client.lines[master] ?? [])
        if (!line.isOver && !line.isBackCut) line.loseRequests();
  }

  #arrive(client: SmallClient, where: number, line: Line): void {
    const master = this.#masters[where] as SmallMaster;
    const request = line.out.shift();
    if (request === undefined) throw new Error('no request under way');
    const { answer, effects } = master.answer(request);
    line.answered(answer);
    for (const { script, value, before, after, hasChanged, isRefusal } of effects) {
      const isSet = before !== value && after === value;
      if (isSet && line.isKnownBroken) master.setTooLate.add(value);
      if (isRefusal && (before === null || before === value))
        this.#find('busy', `${client.name} was refused where no other client held the lock`);
      if (isRefusal)
        this.#refusedBy.set(value, (this.#refusedBy.get(value) ?? new Set()).add(where));
      if (before !== null && before !== value && hasChanged)
        this.#find('ownership', `${script} of ${value} has changed the key of ${before}`);
    }
  }

  async #tick(isKnown: boolean): Promise<void> {
    this.#ticksLeft -= 1;
    const until = this.#world.now + tickMs;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= until);
      const [next] = due.sort((a, b) => a.at - b.at || a.order - b.order);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#world.now = next.at;
      next.fire();
      await settle();
      if (!isKnown) this.#judge();
    }
    this.#world.now = until;
    for (const client of this.#clients) client.separate();
  }

  #sleep(client: SmallClient, ms: number, cancelled?: AbortSignal): Promise<void> {
    if (cancelled?.aborted || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#timerCount += 1;
      const end = () => {
        this.#timers.delete(timer);
        resolve();
      };
      const fire = () => {
        cancelled?.removeEventListener('abort', end);
        resolve();
      };
      const timer = { at: this.#world.now + ms, order: this.#timerCount, client, fire };
      this.#timers.add(timer);
      cancelled?.addEventListener('abort', end, { once: true });
    });
  }

  #isLikeTheFirst(client: number): boolean {
    const [first, budget] = [this.#setting.clients[0], this.#setting.clients[client]];
    return first?.acquires === budget?.acquires && first?.extends === budget?.extends;
  }

  /**
   * What a client that is finished reads has no effect, unless a connection breaks: it is read at
   * once then.
   */
  async #readTheRest(): Promise<void> {
    for (const client of this.#clients) {
      if (!this.#isThrough(client)) continue;
      for (const [master, lines] of client.lines.entries()) {
        for (const line of lines) {
          while (line.hasReplies) {
            client.read(master, line);
            await settle();
          }
        }
      }
    }
  }

  /** Whether a client is finished, and nothing will fail any more. */
  #isThrough({ isFinished }: SmallClient): boolean {
    return isFinished && this.#lossesLeft + this.#crashesLeft === 0;
  }

  #isUsed(master: number): boolean {
    return this.#clients.some((client) =>
      (client.lines[master] ?? []).some(({ isIdle }) => !isIdle),
    );
  }

  #noteSent(
    client: SmallClient,
    master: number,
    script: ScriptName | null,
    args: readonly unknown[],
  ): void {
    this.#sentTo.add(master);
    if (script === null || script === 'extend') return;
    const value = String(args[3 + Number(args[2])]);
    const of = { client, master, value };
    if (script === 'release') {
      this.#released.add(keyOf(of));
      this.#repairs = this.#repairs.filter((one) => keyOf(one) !== keyOf(of));
    } else if (this.#released.has(keyOf(of))) {
      this.#find('released', `${script} of ${value}, which was released before`);
    }
    if (script === 'repair') this.#repairs.push(of);
  }

  #judgeAttempt({ value }: Claim, attempt: Attempt): void {
    if (attempt.kind !== 'busy') return;
    const refusedCount = this.#refusedBy.get(value)?.size ?? 0;
    if (refusedCount === 0) this.#find('busy', `${value} was refused by no master`);
    if (attempt.isHeld && refusedCount < quorum)
      this.#find('busy', `${value} counts as refused by a quorum, and ${refusedCount} did`);
  }

  #judgeFence(client: SmallClient, { fence }: Lease): void {
    if (fence === null || fence <= this.#largestFence)
      this.#find('fence', `${client.name} holds with ${fence} after ${this.#largestFence}`);
    this.#largestFence = Math.max(this.#largestFence, fence ?? 0);
  }

  #judge(): void {
    const holders = this.#clients.filter(({ isHolding }) => isHolding);
    if (holders.length > 1)
      this.#find('exclusion', `${holders.map(({ name }) => name).join(' and ')} hold the lock`);
    for (const { name, lease } of holders) {
      const value = lease?.claim.value ?? '';
      const shown = this.#masters.filter(
        ({ redis, forgot }) => redis.get(key) === value || forgot.has(value),
      );
      if (shown.length < quorum)
        this.#find('honesty', `${name} holds the lock, and ${shown.length} masters show it`);
    }
    for (const { client, value } of this.#repairs) {
      const isHeld = client.isHolding && client.lease?.claim.value === value;
      if (!isHeld) this.#find('revived', `${client.name} repairs ${value}, which it does not hold`);
    }
    const values = this.#masters.map((master) => {
      const why = master.overstay;
      if (why !== null) this.#find('ttl', why);
      return master.redis.get(key);
    });
    const isQuiet = !masterNames.some((_, index) => this.#isUsed(index)) && this.#timers.size === 0;
    if (!isQuiet) return;
    for (const [index, value] of values.entries()) {
      if (value === null || this.#masters[index]?.setTooLate.has(value)) continue;
      if (this.#clients.every(({ lease }) => lease?.claim.value !== value))
        this.#find('litter', `${masterNames[index]} keeps ${value}, which no client holds`);
    }
  }

  #find(property: Property, what: string): void {
    this.#finding ??= { property, what };
  }
}

interface Repair {
  readonly client: SmallClient;
  readonly master: number;
  readonly value: string;
}

function keyOf({ client, master, value }: Repair): string {
  return `${client.name} ${master} ${value}`;
}

/** Resolves when all promises that are settled have had their effects. */
function settle(): Promise<void> {
  return new Promise((resolve) => afterPromises(resolve));
}
