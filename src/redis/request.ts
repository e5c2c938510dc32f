// One request as ioredis sends it, and who is told of the answer. It is what a Command of ioredis is to its client, and as little as that:
// no promise, no copies, nothing that other commands need. The surprise: it is here for its price. A Command takes half of the time that
// a lock takes on a master next door.

import type { Redis } from 'ioredis';

type Command = Parameters<Redis['sendCommand']>[0];

/** Called once, with the reply in strings, numbers and arrays, or with what went wrong. */
export type OnReply = (reply: unknown) => void;

class Request {
  readonly name: string;
  readonly args: readonly (string | number)[];
  /** Whoever traces commands would wait for a promise. */
  readonly isTraced = true;
  readonly inTransaction = false;
  /** Properties, because programs that watch ioredis put their own in front of them. */
  resolve: (reply: unknown) => void;
  reject: (error: Error) => void;

  constructor(name: string, args: readonly (string | number)[], onReply: OnReply) {
    this.name = name;
    this.args = args;
    this.resolve = (reply) => onReply(asText(reply));
    this.reject = onReply;
  }

  /** ioredis says how it will read the reply: a script's is read alike in each way. */
  setReplyContext(): void {}

  toWritable(): string {
    let text = `*${this.args.length + 1}\r\n${asBulk(this.name)}`;
    for (const arg of this.args) text += asBulk(arg);
    return text;
  }
}

/** Sends before it returns, or never; a client that cannot send calls back at once. */
export function request(client: Redis, name: string, args: readonly (string | number)[], onReply: OnReply): void {
  client.sendCommand(new Request(name, args, onReply) as unknown as Command);
}

function asBulk(word: string | number): string {
  const text = String(word);
  return `$${Buffer.byteLength(text)}\r\n${text}\r\n`;
}

function asText(reply: unknown): unknown {
  if (reply instanceof Buffer) return reply.toString();
  return Array.isArray(reply) ? reply.map(asText) : reply;
}
