// The troubles of a world, drawn from its seed: each comes and goes by itself, for as long as the
// storm lasts. It affects servers, networks and machines, and knows nothing of locks. `clearUp`
// ends every trouble at once, so that afterwards the lock must recover.

import type { Signal } from '../../src/run/record.ts';
import type { Machine } from './machine.ts';
import type { Link, Network } from './network.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimServer } from './sim-server.ts';
import type { KnownProgram, Witness } from './witness.ts';
import type { World } from './world.ts';

/** A program that a trouble may befall. */
export interface Running {
  readonly process: SimProcess;
  /** Those of its guards that are alive. */
  readonly guards?: readonly SimProcess[];
  readonly known: Pick<KnownProgram, 'endpoints'>;
  signal(signal: Signal): void;
}

export interface Places {
  readonly world: World;
  readonly network: Network;
  readonly servers: readonly SimServer[];
  readonly machines: readonly Machine[];
  readonly witness: Witness;
  readonly prefix: string;
  /** The programs that are running. */
  readonly running: ReadonlySet<Running>;
}

export class Weather {
  readonly #places: Places;
  readonly #options: Options;
  readonly #random: Random;
  /** What ends a trouble that has not ended yet. */
  readonly #remedies = new Set<() => void>();
  #isOver = false;

  constructor(places: Places, options: Options) {
    this.#places = places;
    this.#options = options;
    this.#random = places.world.random.stream('weather');
    const { servers, machines } = places;
    this.#every(options.partitionEveryMs, () => this.#partition());
    this.#every(options.resetEveryMs, () => this.#disturbConnection());
    this.#every(options.freezeEveryMs, () => this.#freeze(this.#random.pick(servers)));
    this.#every(options.slowEveryMs, () => this.#slowDown());
    this.#every(options.restartEveryMs, () => this.#restart(this.#random.pick(servers)));
    this.#every(options.pauseEveryMs, () => this.#pause());
    this.#every(options.suspendEveryMs, () => this.#suspend(this.#random.pick(machines)));
    this.#every(options.clientStepEveryMs, () =>
      this.#random.pick(machines).stepWall(this.#random.between(-800, 800)),
    );
    this.#every(options.masterStepEveryMs, () => this.#stepMaster(this.#random.pick(servers)));
    this.#every(options.failoverEveryMs, () =>
      this.#failOver(this.#random.pick(servers.slice(0, options.replicatedCount))),
    );
    this.#every(options.evictEveryMs, () => this.#evict(this.#random.pick(servers)));
  }

  clearUp(): void {
    this.#isOver = true;
    for (const remedy of this.#remedies) remedy();
    this.#places.network.heal();
    this.#places.world.note('WEATHER', 'clears up');
  }

  #every(meanMs: number | null, strike: () => void): void {
    if (meanMs === null) return;
    this.#places.world.after(this.#random.around(meanMs), () => {
      if (this.#isOver) return;
      strike();
      this.#every(meanMs, strike);
    });
  }

  /** Ends by itself after at most `ms`, or when the weather clears up. */
  #endAfter(ms: number, end: () => void): void {
    const remedy = () => {
      if (this.#remedies.delete(remedy)) end();
    };
    this.#remedies.add(remedy);
    this.#places.world.after(ms, remedy);
  }

  #partition(): void {
    const { world } = this.#places;
    const links = this.#cutOff();
    const ways = this.#random.pick(['both', 'both', 'toServer', 'toClient'] as const);
    const directions = links.flatMap(({ toServer, toClient }) =>
      ways === 'both' ? [toServer, toClient] : [ways === 'toServer' ? toServer : toClient],
    );
    world.mark(ways === 'both' ? 'two-way partition' : 'one-way partition');
    world.note('WEATHER', `blocks ${directions.map(({ name }) => name).join(', ')}`);
    for (const direction of directions) direction.block();
    this.#endAfter(this.#random.between(0, this.#options.partitionMs), () => {
      world.note('WEATHER', `unblocks ${directions.map(({ name }) => name).join(', ')}`);
      for (const direction of directions) direction.unblock();
    });
  }

  /** One link, all links of a server or of a machine, or a random half. */
  #cutOff(): readonly Link[] {
    const { network, servers, machines } = this.#places;
    const link = (machine: Machine, server: SimServer) => network.link(machine.name, server.name);
    switch (this.#random.integer(0, 3)) {
      case 0:
        return [link(this.#random.pick(machines), this.#random.pick(servers))];
      case 1: {
        const server = this.#random.pick(servers);
        return machines.map((machine) => link(machine, server));
      }
      case 2: {
        const machine = this.#random.pick(machines);
        return servers.map((server) => link(machine, server));
      }
      default:
        return machines.flatMap((machine) =>
          servers.filter(() => this.#random.chance(0.5)).map((server) => link(machine, server)),
        );
    }
  }

  #disturbConnection(): void {
    const endpoints = [...this.#places.running].flatMap(({ known }) => known.endpoints);
    const sockets = endpoints.flatMap((endpoint) => [...endpoint.sockets]);
    if (sockets.length === 0) return;
    const socket = this.#random.pick(sockets);
    const how = this.#random.pick(['breakOff', 'loseAnswers', 'vanish', 'clog'] as const);
    this.#places.world.mark(`connection: ${how}`);
    this.#places.world.note('WEATHER', `${how} on ${socket.name}`);
    if (how === 'clog') socket.clog(this.#random.around(this.#options.clogMs / 4));
    else socket[how]();
  }

  #freeze(server: SimServer): void {
    if (server.isFrozen || server.isDown) return;
    this.#places.world.mark('frozen master');
    server.freeze();
    this.#endAfter(this.#random.between(0, this.#options.freezeMs), () => server.thaw());
  }

  #slowDown(): void {
    const links = this.#cutOff();
    const slowMs = this.#random.between(0, this.#options.slowMs);
    for (const { toServer, toClient } of links)
      this.#random.pick([toServer, toClient]).slowMs = slowMs;
  }

  #restart(server: SimServer): void {
    if (server.isDown) return;
    const { memory, downMs, startMs, startTroubles } = this.#options;
    this.#places.world.mark('restarted master');
    server.stop();
    const isEmptied = memory === 'none' || (memory === 'some' && this.#random.chance(0.5));
    if (isEmptied) server.redis.restore(null);
    // Not a trouble that ends early: how long a server is down decides whether its new counters are
    // high enough.
    this.#places.world.after(this.#random.between(downMs.least, downMs.most), () => {
      if (startMs === 0) return server.start();
      const trouble = this.#random.pick(startTroubles);
      this.#places.world.mark(`restarted master: ${trouble}`);
      server.start(trouble, startMs);
    });
  }

  /** To a replica that has received nothing for a while. */
  #failOver(server: SimServer): void {
    const { world, prefix } = this.#places;
    const { downMs, lagMs, isPromotionTold } = this.#options;
    const replica = server.redis.snapshot();
    world.after(this.#random.between(0, lagMs), () => {
      if (server.isDown || this.#isOver) return;
      const { redis } = server;
      const isForgotten = (key: string) => replica.get(key)?.value !== redis.get(key);
      const locks = redis.keys().filter((key) => key.startsWith(prefix));
      world.mark(locks.some(isForgotten) ? 'failover, and a lock forgotten' : 'failover');
      server.stop();
      redis.restore(replica);
      world.after(this.#random.between(downMs.least, downMs.most), () =>
        server.takeOver(isPromotionTold),
      );
    });
  }

  #pause(): void {
    const { running } = this.#places;
    if (running.size === 0) return;
    const stopped = this.#toPause(this.#random.pick([...running]));
    const names = stopped.map(({ name }) => name).join(', ');
    this.#places.world.mark('paused process');
    this.#places.world.note('WEATHER', `stops ${names}`);
    for (const process of stopped) process.pause();
    this.#endAfter(this.#random.between(0, this.#options.pauseMs), () => {
      this.#places.world.note('WEATHER', `continues ${names}`);
      for (const process of stopped) process.resume();
    });
  }

  /** One guard at most where they are not stopped together: the other one acts. */
  #toPause({ process, guards = [] }: Running): readonly SimProcess[] {
    if (this.#options.arePausedTogether) return [process, ...guards];
    const isGuard = guards.length > 0 && this.#random.chance(0.25);
    if (!isGuard || !haveBoth(guards)) return [process];
    this.#places.world.mark('paused guard');
    return [this.#random.pick(guards)];
  }

  #suspend(machine: Machine): void {
    if (machine.isAsleep) return;
    machine.sleep();
    this.#endAfter(this.#random.between(0, this.#options.suspendMs), () => {
      machine.wake();
      this.#places.witness.woke(machine);
    });
  }

  #stepMaster(server: SimServer): void {
    const ms = this.#random.between(0, 2 * this.#options.ttlMs);
    this.#places.world.note(server.name, `time of day set forward by ${Math.round(ms)} ms`);
    server.redis.stepWall(ms);
    this.#places.witness.tell({ kind: 'clock-stepped' });
  }

  #evict(server: SimServer): void {
    const keys = server.redis.keys().filter((key) => key.startsWith(this.#places.prefix));
    if (keys.length === 0) return;
    const key = this.#random.pick(keys);
    this.#places.world.note(server.name, `loses ${key}`);
    server.redis.put(key, null);
  }
}

/** Whether both guards of a run are at work, so that it can do without one of them. */
export function haveBoth(guards: readonly SimProcess[]): boolean {
  return guards.length === 2 && guards.every(({ isPaused }) => !isPaused);
}
