// A foreign program that locks by the old page of SETNX, command by command and by the clock of its
// own machine: the client of test/interop, written from that page alone. It stops when its own time
// is over. Foreign programs that break each other's locks are not judged, because that page
// promises less.

import { SetnxLock } from '../interop/clients/setnx.ts';
import type { Crowd } from './contender.ts';
import { Endpoint } from './endpoint.ts';
import { epochMs, Machine } from './machine.ts';
import type { Random } from './random.ts';
import { Redis } from './sim-ioredis.ts';
import { SimProcess } from './sim-process.ts';
import type { SimServer } from './sim-server.ts';
import type { World } from './world.ts';

export interface ForeignHolding {
  readonly owner: string;
  readonly resource: string;
  /** In true time: when its own clock reads the time that it wrote. */
  readonly validUntil: number;
  /** It has neither released the lock nor died. */
  isBelieved: boolean;
}

/** How often a client dies while it holds the lock. */
const deathChance = 0.4;
/** How much time may pass between reading and the write that follows from it. */
const thoughtMs = 400;
const dialMs = 2_000;
const drift = 0.0005;

export class ForeignClient {
  readonly #crowd: Crowd;
  readonly #world: World;
  readonly #random: Random;
  readonly #machine: Machine;
  readonly #unitMs: number;
  #count = 0;

  constructor(name: string, crowd: Crowd) {
    const { options, servers } = crowd;
    const { redis } = servers[0] as SimServer;
    this.#crowd = crowd;
    this.#world = crowd.network.world;
    this.#random = this.#world.random.stream(name);
    const skewMs = this.#random.between(-options.foreignSkewMs, options.foreignSkewMs);
    const clock = {
      rate: 1 + this.#random.between(-drift, drift),
      wallOffsetMs: redis.wallMs() - epochMs + skewMs,
    };
    this.#machine = new Machine(this.#world, name, clock);
    this.#unitMs = options.protocol === 'setnx' ? 1_000 : 1;
    this.#startLater();
  }

  #startLater(): void {
    this.#world.after(this.#crowd.thinkMs(this.#random), () => {
      if (!this.#crowd.isStormy()) return;
      this.#count += 1;
      const process = new SimProcess(this.#machine, `${this.#machine.name}.${this.#count}`);
      const again = () => this.#startLater();
      process.onDeath(again);
      // An error of its connection ends a try; what it has written stays until its time.
      process.deliver(() => void this.#try(process).then(again, again));
    });
  }

  async #try(process: SimProcess): Promise<void> {
    const { network, servers, prefix, options } = this.#crowd;
    const { address } = new Endpoint(network, process, servers[0] as SimServer, 0);
    const client = new Redis({ host: address.host ?? '', connectTimeout: dialMs });
    const resource = `r${this.#random.integer(1, options.resourceCount)}`;
    let command = '';
    let written = 0;
    const redis = {
      send: async (...args: (string | number)[]) => {
        command = String(args[0]);
        if (args.length === 3) written = Number(args[2]);
        if (command === 'GETSET') await sleep(process, this.#random.between(0, thoughtMs));
        return (await client.call(...args.map(String))) as string | number | null;
      },
    };
    const lock = new SetnxLock(redis, prefix + resource, () =>
      Math.floor(this.#machine.wall() / this.#unitMs),
    );
    await client.connect();
    try {
      const pollMs = this.#random.between(10, 1_000);
      while (!(await lock.acquire(Math.ceil(options.foreignTtlMs / this.#unitMs)))) {
        if (command === 'GETSET') this.#mark(process, 'moves a time that is not over');
        if (!this.#crowd.isStormy()) return;
        await sleep(process, this.#random.around(pollMs));
      }
      this.#mark(process, command === 'GETSET' ? 'takes an expired time over' : 'acquires');
      await this.#work(process, resource, written);
      await lock.release();
    } finally {
      client.disconnect();
    }
  }

  /** Until it is done, its time is over, or it dies. */
  async #work(process: SimProcess, resource: string, written: number): Promise<void> {
    const { witness, options } = this.#crowd;
    const leftMs = written * this.#unitMs - this.#machine.wall();
    const validUntil = this.#world.now + leftMs / this.#machine.rate;
    const holding: ForeignHolding = { owner: process.name, resource, validUntil, isBelieved: true };
    witness.foreignHoldings.push(holding);
    witness.tell({ kind: 'foreign-acquired', holding });
    const maxMs = Math.max(0, leftMs - options.foreignSlackMs);
    const workMs = this.#random.chance(0.3)
      ? maxMs
      : Math.min(maxMs, this.#random.around(options.workMs));
    if (this.#random.chance(deathChance)) {
      this.#world.after(this.#random.between(0, workMs), () => {
        if (!holding.isBelieved) return;
        holding.isBelieved = false;
        this.#mark(process, 'dies suddenly');
        process.die();
      });
    }
    await sleep(process, workMs);
    holding.isBelieved = false;
  }

  #mark(process: SimProcess, what: string): void {
    this.#world.mark(`other program ${what}`);
    this.#world.note(process.name, what);
  }
}

function sleep(process: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    process.timer(ms, resolve);
  });
}
