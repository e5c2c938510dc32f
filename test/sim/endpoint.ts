// One server as one process sees it: the link, the sockets, and a log of what was sent and done,
// for the checkers. It decides nothing.

import type { MasterAddress } from '../../src/redis/address.ts';
import { hosts } from './hub.ts';
import type { Link, Network } from './network.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimServer } from './sim-server.ts';
import type { SimSocket } from './sim-socket.ts';

export class Endpoint {
  readonly process: SimProcess;
  readonly server: SimServer;
  readonly link: Link;
  /** As in the list of masters; given to the real Server. */
  readonly address: MasterAddress;
  /** The sockets that are open on the side of the process. */
  readonly sockets = new Set<SimSocket>();
  /**
   * A connection broke, or took long, or was never made: the effect of what was under way is
   * unknown.
   */
  wasBroken = false;
  /** The server has closed a connection without warning, and another one could be made at once. */
  wasReset = false;
  /** Two connections were in use at once, so the order of their effects is unknown. */
  wasDoubled = false;
  /** The number of scripts sent there. */
  scriptCount = 0;
  /** Called whenever everything sent so far has been done. */
  onIdle: (() => void) | null = null;
  readonly #network: Network;
  readonly #all = new Set<SimSocket>();
  #dialCount = 0;

  constructor(network: Network, process: SimProcess, server: SimServer, index: number) {
    this.process = process;
    this.server = server;
    this.link = network.link(process.machine.name, server.name);
    this.#network = network;
    const host = `${process.name}/${index}`;
    this.address = { name: `${server.name}/${index}`, host, port: 6379, db: 0 };
    hosts().set(host, this);
    process.onDeath(() => {
      for (const socket of this.sockets) socket.orphan();
    });
  }

  /** Everything sent has been done, and no connection is being made. */
  get isIdle(): boolean {
    return this.#dialCount === 0 && [...this.#all].every((socket) => !socket.isOwed);
  }

  roundTripMs(): number {
    return (
      this.#network.delayMs() +
      this.#network.delayMs() +
      this.link.toServer.slowMs +
      this.link.toClient.slowMs
    );
  }

  dialling(): void {
    this.#dialCount += 1;
  }

  dialled(isConnected: boolean): void {
    this.#dialCount -= 1;
    if (!isConnected) this.wasBroken = true;
    this.#tellIfIdle();
  }

  opened(socket: SimSocket): void {
    this.sockets.add(socket);
    this.#all.add(socket);
  }

  sent(by: SimSocket): void {
    this.scriptCount += 1;
    const breaksAfterMs = this.wasReset ? null : this.#network.breaksAfterMs();
    if (breaksAfterMs !== null) this.#resetLater(by, breaksAfterMs);
    for (const socket of this.#all) if (socket !== by && socket.isOwed) this.wasDoubled = true;
  }

  /** At most one connection of a process to a server. */
  #resetLater(socket: SimSocket, ms: number): void {
    this.wasReset = true;
    const { world } = this.process;
    world.after(ms, () => {
      if (!this.sockets.has(socket)) return;
      world.mark('dead connection');
      socket.reset();
    });
  }

  done(): void {
    this.#tellIfIdle();
  }

  /** Checked a moment later: a client that was just connected or answered may be about to send. */
  #tellIfIdle(): void {
    if (this.onIdle === null) return;
    this.process.world.after(0, () => {
      if (this.isIdle) this.onIdle?.();
    });
  }
}
