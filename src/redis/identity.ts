// Which server answers at an address, from its replies to INFO server and ROLE, and whether it may
// be in the list of masters. *Note:* addresses do not identify a server: two names, two ports (a
// proxy) or two databases may be one server, which would vote twice. The run_id that it draws at
// its start does.

import { quorumOf } from '../lock/quorum.ts';
import type { Failed } from '../lock/types.ts';
import { failed } from './errors.ts';
import { kindOfFacts, replica, type ServerFacts } from './server-kinds.ts';

/** A set of masters, by the sorted ids of their data sets. */
export interface UsedSet {
  readonly ids: readonly string[];
  /** The host that used it last, and when, by our clock. */
  readonly host: string;
  readonly usedAt: number;
}

/** The mark of the data set of a server: scripts/server.lua. */
export interface Mark {
  /** null: it has none, and none was written. */
  readonly id: string | null;
  /** Since when it is there at the latest, by our clock; without an id, when that was seen. */
  readonly since: number;
  /** The sets that hosts have recorded beside it. */
  readonly sets: readonly UsedSet[];
}

export interface ServerIdentity extends ServerFacts {
  /** null: INFO was refused (an ACL, a managed service), so duplicates cannot be detected. */
  readonly runId: string | null;
  /** When it was started at the latest, by our clock; null: unknown. */
  readonly startedAt: number | null;
  /** Whether it has ever replicated, so that it may be a replica that was promoted. */
  readonly hasReplicated: boolean;
  readonly repliedAt: number;
  /** null: it was not asked for, or was refused. */
  readonly mark: Mark | null;
}

/** The reply of scripts/server.lua, which came at `repliedAt`. */
export function parseMark(reply: unknown, repliedAt: number): Mark | null {
  const [id, forMs, sets]: unknown[] = Array.isArray(reply) ? reply : [];
  if (typeof id !== 'string' || typeof forMs !== 'number') return null;
  return {
    id: id === '' ? null : id.slice(0, 64),
    since: repliedAt - forMs,
    sets: Array.isArray(sets) ? sets.flatMap((set) => parseSet(set, repliedAt)) : [],
  };
}

function parseSet(set: unknown, repliedAt: number): UsedSet[] {
  const [ids, agoMs, host]: unknown[] = Array.isArray(set) ? set : [];
  if (typeof ids !== 'string' || typeof agoMs !== 'number' || typeof host !== 'string') return [];
  const distinct = [...new Set(ids.split(','))].sort();
  return [{ ids: distinct, host: host.slice(0, 255), usedAt: repliedAt - Math.max(0, agoMs) }];
}

/** Whether INFO has a section `crdt`: that of Redis Enterprise. */
export const hasCrdtSection = (info: string) => /^rlec_version:/m.test(info);

/**
 * `info` is that of the sections `server` and `crdt`, `role` the reply to ROLE, which came at
 * `repliedAt`; null where they were refused. `mark` is the reply to scripts/server.lua, or null.
 */
export function parseIdentity(
  info: string | null,
  role: unknown,
  repliedAt: number,
  mark: unknown,
): ServerIdentity {
  const fact = (name: string) =>
    new RegExp(`^${name}:(\\w{1,64})\\r?$`, 'm').exec(info ?? '')?.[1] ?? null;
  const uptimeSeconds = fact('uptime_in_seconds');
  const [first, offset]: unknown[] = Array.isArray(role) ? role : [];
  // A server of KeyDB that replicates from several others answers with one list for each.
  const [roleWord]: unknown[] = Array.isArray(first) ? first : [first];
  return {
    runId: fact('run_id'),
    // Valkey 8 and newer have another name for it.
    mode: fact('redis_mode') ?? fact('server_mode'),
    role: typeof roleWord === 'string' ? roleWord : null,
    replication: /^crdt_\w+:/m.test(info ?? '') ? 'active-active' : null,
    startedAt: /^\d{1,12}$/.test(uptimeSeconds ?? '')
      ? repliedAt - Number(uptimeSeconds) * 1000
      : null,
    hasReplicated: roleWord === 'master' && Number(offset) > 0,
    repliedAt,
    mark: parseMark(mark, repliedAt),
  };
}

/** Whether the server has refused to report what it is. */
export function isUnidentified({ runId, role }: ServerIdentity): boolean {
  return runId === null || role === null;
}

/** What is known of the server of one master. */
class Known {
  runId: string | null = null;
  seenAt = 0;
  /** When another server, which had not just been started, was first seen here; null: never. */
  changedAt: number | null = null;
  mark: Mark | null = null;
  /** What it was last admitted with: each reply asks again. */
  admitted: ServerIdentity | null = null;
}

/**
 * A client reaches the masters one after another, so marks that were written together differ by
 * this much.
 */
export const sameMomentMs = 2_000;

/** The servers known so far: one registry for all masters of a program. */
export class ServerRegistry {
  readonly #known = new Map<string, Known>();
  #onMark: (() => void)[] = [];

  /** Adds a master: a quorum is one of their number. */
  list(master: string): void {
    this.#of(master);
  }

  /**
   * Whether another master has an older mark, so that this one was emptied or is new. null: too few
   * are known; if this one voted, the others of a quorum could know a lock that it has forgotten.
   */
  hasOlderMark(master: string, { since }: Mark): boolean | null {
    const others = [...this.#known].flatMap(([name, { mark }]) =>
      mark !== null && name !== master ? [mark] : [],
    );
    if (others.some((mark) => mark.id !== null && mark.since < since - sameMomentMs)) return true;
    return others.length >= quorumOf(this.#known.size) - 1 ? false : null;
  }

  /** Resolves when the next mark is registered. */
  nextMark(): Promise<void> {
    return new Promise((resolve) => this.#onMark.push(resolve));
  }

  /** When a server that had been running elsewhere was first seen at this address; null: never. */
  changedAt(master: string): number | null {
    return this.#of(master).changedAt;
  }

  /** Registers a server. Returns why it may not vote, or null if it may. */
  admit(master: string, identity: ServerIdentity): Failed | null {
    const known = this.#of(master);
    if (known.admitted === identity) return null;
    const rejection = this.#register(known, identity);
    if (rejection === null) known.admitted = identity;
    return rejection;
  }

  #register(known: Known, identity: ServerIdentity): Failed | null {
    const kind = kindOfFacts(identity);
    if (kind === replica && known.runId !== null) {
      const why = 'has become a replica: its votes do not count';
      return failed('reply', why, 'list its primary, or promote it');
    }
    if (kind !== null) return failed(kind.cause, kind.message ?? '', kind.advice);
    const { runId, repliedAt, mark } = identity;
    if (known.mark !== mark) {
      known.mark = mark;
      for (const report of this.#onMark.splice(0)) report();
    }
    if (runId === null || known.runId === runId) return null;
    const [other] = [...this.#known].find(([, one]) => one.runId === runId) ?? [];
    if (other !== undefined) {
      const why = `is the same server as ${other}: it would vote twice`;
      return failed('misconfigured', why, 'list each server once');
    }
    const isOther = known.runId !== null && (identity.startedAt ?? 0) < known.seenAt;
    Object.assign(known, { runId, seenAt: repliedAt, changedAt: isOther ? repliedAt : null });
    return null;
  }

  #of(master: string): Known {
    const known = this.#known.get(master) ?? new Known();
    this.#known.set(master, known);
    return known;
  }
}
