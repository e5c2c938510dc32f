// One TCP connection from a process to a server, with its ways to fail. It carries commands one way
// and replies the other, each in order. A connection that breaks at the server looks open to the
// process until the news arrives, and what is sent meanwhile is lost; one that the process closes
// still carries what was sent, and its replies.

import type { Endpoint } from './endpoint.ts';
import { Wire } from './network.ts';
import type { Answer, Command, Peer } from './sim-server.ts';

/** A SYN that was lost is sent again after this. */
const synMs = 1_000;

export class SimSocket implements Peer {
  onAnswer: (answer: Answer) => void = () => {};
  onMessage: (channel: string, message: string) => void = () => {};
  /** `code` is the system's error code; null: closed in order. */
  onClose: (code: string | null) => void = () => {};
  readonly #endpoint: Endpoint;
  readonly #out: Wire;
  readonly #back: Wire;
  #isClosed = false;
  #isMute = false;
  #wasReset = false;
  /** Sent, and not done by the server. */
  #owedCount = 0;

  private constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
    this.#out = new Wire(endpoint.link.toServer);
    this.#back = new Wire(endpoint.link.toClient);
    endpoint.opened(this);
    endpoint.server.accept(this);
  }

  /**
   * As TCP connects: a round trip, a refusal, or silence. Resolves with the system's error code, if
   * any. `timeoutMs`: 0 for none. `onBegun` is given a function that ends the attempt.
   */
  static connect(
    endpoint: Endpoint,
    timeoutMs: number,
    onBegun: (giveUp: () => void) => void = () => {},
  ): Promise<SimSocket | string> {
    const { process, link, server } = endpoint;
    const { world } = process;
    endpoint.dialling();
    return new Promise((resolve) => {
      let isOver = false;
      const end = (problem: string | null) => {
        if (isOver) return;
        isOver = true;
        timeout?.cancel();
        secondKnock.cancel();
        resolve(problem ?? new SimSocket(endpoint));
        endpoint.dialled(problem === null);
      };
      const knock = () => {
        if (link.toServer.isBlocked || link.toClient.isBlocked) {
          endpoint.wasBroken = true;
          return;
        }
        world.after(endpoint.roundTripMs(), () =>
          process.deliver(() => end(server.isDown ? 'ECONNREFUSED' : null)),
        );
      };
      const giveUp = () => end('ETIMEDOUT');
      const timeout = timeoutMs === 0 ? null : process.timer(timeoutMs, giveUp);
      const secondKnock = process.timer(synMs, knock);
      knock();
      onBegun(giveUp);
    });
  }

  get name(): string {
    return `${this.#endpoint.process.name}-${this.#endpoint.server.name}`;
  }

  /** Something was sent that the server has not done, and may do as far as the process knows. */
  get isOwed(): boolean {
    return this.#owedCount > 0 && !(this.#wasReset && this.#isClosed);
  }

  send(command: Command): void {
    const { server, process } = this.#endpoint;
    this.#owedCount += 1;
    if (command[0] === 'EVAL') this.#endpoint.sent(this);
    process.world.trace.detail(
      process.world.now,
      process.name,
      () => `   sends ${server.name} ${inShort(command)}`,
    );
    this.#out.send(() => server.receive(this, command));
  }

  /** Nothing more will be sent; the server closes when it has done the rest. */
  end(): void {
    this.#out.send(() => this.#endpoint.server.hangUp(this));
  }

  destroy(): void {
    this.#close(null);
  }

  /** The process has died: the kernel closes its sockets, and no reply is awaited. */
  orphan(): void {
    this.#isClosed = true;
    this.end();
  }

  answer(command: Command, answer: Answer): void {
    this.#owedCount -= 1;
    const { process, server } = this.#endpoint;
    const said = () => `   ${inShort(command)} of ${process.name}: ${inShort([answer].flat())}`;
    process.world.trace.detail(process.world.now, server.name, said);
    this.#endpoint.done();
    if (!this.#isMute) this.#deliver(() => this.onAnswer(answer));
  }

  message(channel: string, message: string): void {
    this.#deliver(() => this.onMessage(channel, message));
  }

  hungUp(): void {
    this.#deliver(() => this.#close(null));
  }

  /** From the server's side: it is down, or the network has dropped the connection. */
  breakOff(): void {
    this.#endpoint.wasBroken = true;
    this.#breakOff();
  }

  /** The same, of one connection: what is sent on it is lost, and the news takes its time. */
  reset(): void {
    this.#wasReset = true;
    this.#breakOff();
  }

  /** The commands under way arrive and take effect; their replies do not. */
  loseAnswers(): void {
    this.#endpoint.wasBroken = true;
    this.#back.cut();
    this.#out.isDead = true;
    const { process } = this.#endpoint;
    process.world.after(this.#endpoint.roundTripMs(), () =>
      process.deliver(() => this.#close('ECONNRESET')),
    );
  }

  /** Everything arrives and takes effect, and no reply comes, until the connection breaks. */
  mute(): void {
    this.#isMute = true;
  }

  /** From now on messages take much longer here than on a later connection, without an error. */
  clog(ms: number): void {
    this.#endpoint.wasBroken = true;
    this.#out.clogMs = ms;
  }

  /**
   * Nothing more goes either way, without an error, as after a router has forgotten the connection.
   */
  vanish(): void {
    this.#endpoint.wasBroken = true;
    this.#out.isDead = true;
    this.#back.isDead = true;
  }

  #breakOff(): void {
    this.#out.cut();
    this.#endpoint.server.leave(this);
    this.#deliver(() => this.#close('ECONNRESET'));
  }

  #deliver(action: () => void): void {
    this.#back.send(() =>
      this.#endpoint.process.deliver(() => {
        if (!this.#isClosed) action();
      }),
    );
  }

  #close(code: string | null): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endpoint.sockets.delete(this);
    this.onClose(code);
    if (this.#wasReset) this.#endpoint.done();
  }
}

/** For the log: scripts and values, shortened. */
function inShort(args: readonly unknown[]): string {
  const texts = args.map((word) => String(word).trim());
  return texts
    .map((text) => (text.length > 40 ? `${text.slice(0, 12).replace(/\s+/g, ' ')}…` : text))
    .join(' ');
}
