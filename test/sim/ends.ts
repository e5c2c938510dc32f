// Since when each resource has been free for the next one, and who waited for it then. It is told of ends and judges nobody. The surprise:
// one of several slots that is left to expire frees nothing yet, and who is the first in line when it does may not know that it will.

import { quorumOf } from '../../src/lock/quorum.ts';
import type { Claim } from '../../src/lock/types.ts';
import type { SimServer } from './sim-server.ts';
import type { World } from './world.ts';

export interface End {
  readonly freeAt: number;
  /** On a quorum, when somebody gave it up, or his place, or died. */
  readonly waiters: readonly string[];
  /** It was left to expire: who has become the first in line since then learns of it when he asks the next time. */
  readonly isLeft: boolean;
}

/** `leftUntil`: when slots expire that were left to do so, or a lock that nobody extends. */
type Last = Omit<End, 'isLeft'> & { readonly leftUntil: readonly number[] };

export class Ends {
  readonly #world: World;
  readonly #servers: readonly SimServer[];
  readonly #prefix: string;
  readonly #masterCount: number;
  readonly #last = new Map<string, Last>();

  constructor(world: World, servers: readonly SimServer[], prefix: string, masterCount: number) {
    this.#world = world;
    this.#servers = servers;
    this.#prefix = prefix;
    this.#masterCount = masterCount;
  }

  /** undefined: nobody ever held it. */
  of(resource: string): End | undefined {
    const last = this.#last.get(resource);
    if (!last) return undefined;
    const yieldedAt = this.#servers.flatMap(
      ({ redis }) => redis.yieldedAt.get(this.#prefix + resource) ?? [],
    );
    const leftUntil = Math.max(...last.leftUntil.filter((at) => at <= this.#world.now));
    const freeAt = Math.max(last.freeAt, leftUntil, ...yieldedAt);
    return { freeAt, waiters: last.waiters, isLeft: freeAt === leftUntil };
  }

  /** In so many ms; `isExpiring`: without anybody who gives it up. */
  add(
    { resources, sharing }: Pick<Claim, 'resources' | 'sharing'>,
    keepMs: number,
    isExpiring = false,
  ): void {
    for (const resource of resources) {
      const last = this.#last.get(resource);
      const keptUntil = this.#world.now + keepMs;
      const isLeft = keepMs > 0 && sharing.kind === 'slots';
      const leftUntil = [...(last?.leftUntil ?? []), ...(isLeft || isExpiring ? [keptUntil] : [])];
      const freeAt = Math.max(isLeft ? 0 : keptUntil, last?.freeAt ?? 0);
      this.#last.set(resource, { freeAt, waiters: this.#waitersFor(resource), leftUntil });
    }
  }

  /** Who has waited goes without: it is the turn of the next one where he was the first in line on any master. */
  addPlace({ resources, sharing, waiter }: Claim): void {
    const isFirst = (resource: string) =>
      this.#servers.some(
        ({ redis }) => redis.queueOf(this.#prefix + resource).head(redis.now) === waiter?.id,
      );
    if (waiter) this.add({ resources: resources.filter(isFirst), sharing }, 0);
  }

  #waitersFor(resource: string): string[] {
    const counts = new Map<string, number>();
    for (const { redis } of this.#servers) {
      for (const { id } of redis.queueOf(this.#prefix + resource).places())
        counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    return [...counts].flatMap(([id, count]) => (count >= quorumOf(this.#masterCount) ? [id] : []));
  }
}
