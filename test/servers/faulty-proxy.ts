// A network that can fail: a proxy in front of one master, switched while connections are open. It
// passes bytes, holds them, loses them, or cuts the connection. *Note:* held requests are not lost:
// they reach the master when the proxy passes again, as after a partition that TCP has survived,
// long after their sender gave up.

import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { scratchFolder } from './watchdog.ts';

type Mode = 'pass' | 'dropReplies' | 'holdRequests';

interface Wire {
  client: Socket;
  master: Socket;
  held: Buffer[];
  /**
   * Settled when the last reply so far was passed on: a later reply may not overtake it, whatever
   * the delay.
   */
  passedOn: Promise<unknown>;
}

let count = 0;

export class FaultyProxy {
  /** Of the same kind as the master's: unix:///path or redis://127.0.0.1:port. */
  readonly url: string;
  readonly #target: URL;
  readonly #server: Server;
  readonly #address: { path: string } | { host: string; port: number };
  readonly #wires = new Set<Wire>();
  #mode: Mode = 'pass';
  #delayMs = 0;

  private constructor(
    target: URL,
    server: Server,
    address: { path: string } | { host: string; port: number },
  ) {
    this.#target = target;
    this.#server = server;
    this.#address = address;
    this.url =
      'path' in address ? `unix://${address.path}` : `redis://${address.host}:${address.port}`;
    server.on('connection', (client) => this.#join(client));
  }

  /** A proxy that passes everything, in front of the master with this address. */
  static async start(target: string): Promise<FaultyProxy> {
    const server = createServer();
    const url = new URL(target);
    count += 1;
    const wish =
      url.protocol === 'unix:'
        ? { path: join(scratchFolder(), `proxy${count}`) }
        : { host: '127.0.0.1', port: 0 };
    await listen(server, wish);
    const address =
      'path' in wish ? wish : { host: wish.host, port: (server.address() as AddressInfo).port };
    return new FaultyProxy(url, server, address);
  }

  /** Everything passes at once, held requests first. Ends refuse(). */
  async pass(): Promise<void> {
    this.#mode = 'pass';
    this.#delayMs = 0;
    if (!this.#server.listening) await listen(this.#server, this.#address);
    for (const wire of this.#wires)
      for (const chunk of wire.held.splice(0)) wire.master.write(chunk);
  }

  /** Replies are delayed by so much; requests pass at once. */
  delay(delayMs: number): void {
    this.#mode = 'pass';
    this.#delayMs = delayMs;
  }

  /** Requests reach the master and take effect; its replies are lost. */
  dropReplies(): void {
    this.#mode = 'dropReplies';
  }

  /** Requests are held until pass(). */
  holdRequests(): void {
    this.#mode = 'holdRequests';
  }

  /** Every open connection is reset, with all that is held; new ones work. */
  cut(): void {
    for (const { client, master } of this.#wires) for (const end of [client, master]) reset(end);
    this.#wires.clear();
  }

  /** As cut(), and new connections are refused until pass(). */
  async refuse(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  async stop(): Promise<void> {
    if (this.#server.listening) await this.refuse();
  }

  #join(client: Socket): void {
    const { protocol, pathname, hostname, port } = this.#target;
    const master = protocol === 'unix:' ? connect(pathname) : connect(Number(port), hostname);
    const wire: Wire = { client, master, held: [], passedOn: Promise.resolve() };
    this.#wires.add(wire);
    client.on('data', (chunk) => {
      if (this.#mode === 'holdRequests') wire.held.push(chunk);
      else master.write(chunk);
    });
    master.on('data', (chunk) => {
      if (this.#mode === 'dropReplies') return;
      wire.passedOn = Promise.all([wire.passedOn, sleep(this.#delayMs)]).then(
        () => client.destroyed || client.write(chunk),
      );
    });
    for (const [end, other] of [
      [client, master],
      [master, client],
    ] as const) {
      end.on('error', () => {}); // 'close' follows.
      end.on('close', () => {
        other.destroy();
        this.#wires.delete(wire);
      });
    }
  }
}

function listen(
  server: Server,
  address: { path: string } | { host: string; port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function reset(socket: Socket): void {
  // Only TCP has a reset; a unix socket can only end the stream.
  if (socket.remoteFamily === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
