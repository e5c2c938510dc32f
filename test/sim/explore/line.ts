// One connection of a small world: requests one way and answers the other, each in order, and none
// of them moves before the explorer says so. Its end on the client's side looks like ioredis, as
// far as src/redis/ uses it.

import type { Redis } from 'ioredis';
import type { Origin } from '../../../src/redis/connection/client.ts';

type Words = readonly (string | number)[];

/**
 * Commands that travel together: what a new connection asks about the server and its mark, with the
 * first script behind it; the two questions about durability; or one script.
 */
export interface Request {
  readonly commands: Words[];
  /** Whether more commands of this step travel with it: it has no script yet. */
  isOpen: boolean;
}

/** What the client reads in one step; null: the connection is broken. */
export interface Answer {
  readonly replies: readonly unknown[] | null;
  /** What the client may learn from it: equal texts have equal effects. */
  readonly text: string;
}

interface Pending {
  readonly words: Words;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

export class Line {
  /** Counts the connections of one client to one master. */
  readonly number: number;
  out: Request[] = [];
  back: Answer[] = [];
  /** What the client sends is lost. */
  isOutCut = false;
  /** What the master answers is lost. */
  isBackCut = false;
  /** The client has read that it is broken. */
  isKnownBroken = false;
  /** The client sends no more. */
  isEnding = false;
  status: 'wait' | 'ready' | 'end' = 'wait';
  onSend: (args: Words) => void = () => {};
  #pending: Pending[] = [];
  #onError: (error: Error) => void = () => {};

  constructor(number: number) {
    this.number = number;
  }

  /** The commands whose answers the client awaits, on a connection that has broken. */
  get lost(): readonly Words[] {
    return this.isBackCut ? this.#pending.map(({ words: args }) => args) : [];
  }

  /** Whether nothing is under way on it. */
  get isIdle(): boolean {
    return this.out.length === 0 && this.back.length === 0;
  }

  /** Whether an answer is under way that is no end of the connection. */
  get hasReplies(): boolean {
    return (this.back[0]?.replies ?? null) !== null;
  }

  /** Whether nothing can happen on it any more. */
  get isOver(): boolean {
    return this.isIdle && (this.isKnownBroken || this.isEnding);
  }

  /** The master has done the first request. */
  answered(answer: Answer): void {
    if (!this.isBackCut) this.back.push(answer);
  }

  /** What is sent in the next step travels by itself. */
  seal(): void {
    const last = this.out.at(-1);
    if (last) last.isOpen = false;
  }

  /** From now on requests are lost; the client learns of it behind the answers under way. */
  loseRequests(): void {
    this.out = [];
    this.isOutCut = true;
    this.#break();
  }

  /** Requests under way still arrive, answers do not; the client may learn of it at once. */
  loseAnswers(): void {
    this.back = [];
    this.#break();
  }

  /** The client reads the first answer. */
  read(): Answer {
    const answer = this.back.shift();
    if (answer === undefined) throw new Error('no answer under way');
    if (answer.replies === null) {
      this.isKnownBroken = true;
      this.#onError(Object.assign(new Error('ECONNRESET'), { code: 'ECONNRESET' }));
      this.status = 'end';
      for (const { reject } of this.#pending.splice(0)) reject(closed());
    } else {
      for (const reply of answer.replies) {
        const pending = this.#pending.shift();
        if (reply instanceof Error) pending?.reject(reply);
        else pending?.resolve(reply);
      }
      if (this.isEnding && this.isIdle) this.status = 'end';
    }
    return answer;
  }

  /** The end of the client. */
  client(): Redis {
    const line = this;
    const client = {
      // Commands of one step travel together in any case.
      stream: { cork: () => {}, uncork: () => {} },
      get status() {
        return line.status;
      },
      on: (event: string, listener: (error: Error) => void) => {
        if (event === 'error') line.#onError = listener;
      },
      connect: async () => {
        line.status = 'ready';
      },
      disconnect: () => {
        line.isEnding = true;
        if (line.isIdle) line.status = 'end';
      },
      eval: (...args: Words) => line.#send(['EVAL', ...args]),
      info: (section: string) => line.#send(['INFO', section]),
      call: (...args: Words) => line.#send(args),
    };
    return client as unknown as Redis;
  }

  #send(args: Words): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.status !== 'ready' || this.isEnding) return reject(closed());
      this.#pending.push({ words: args, resolve, reject });
      this.onSend(args);
      if (this.isOutCut) return;
      const isScript = args[0] === 'EVAL' && !asksForMark(args);
      const last = this.out.at(-1);
      if (last?.isOpen) {
        last.commands.push(args);
        last.isOpen = !isScript;
      } else {
        this.out.push({ commands: [args], isOpen: !isScript });
      }
    });
  }

  #break(): void {
    this.isBackCut = true;
    this.back.push({ replies: null, text: 'broken' });
  }
}

/** Whether it is the question for the mark, which comes before the first script. */
export function asksForMark(args: Words): boolean {
  return args[0] === 'EVAL' && String(args[3]).endsWith(':mark');
}

function closed(): Error {
  return new Error('Connection is closed.');
}

/** Where a Server gets its connections from. */
export function originOf(name: string, connect: () => Line): Origin {
  return { name, db: 0, duplicate: () => connect().client() };
}
