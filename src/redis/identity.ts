// Which server answers at an address, from its replies to INFO server and ROLE, and whether it may
// be in the list of masters. *Note:* addresses do not identify a server: two names, two ports (a
// proxy) or two databases may be one server, which would vote twice. The run_id that it draws at
// its start does.

import type { Failed } from '../lock/types.ts';
import { failed } from './errors.ts';
import { kindOfFacts, replica, type ServerFacts } from './server-kinds.ts';

export interface ServerIdentity extends ServerFacts {
  /** null: INFO was refused (an ACL, a managed service), so duplicates cannot be detected. */
  readonly runId: string | null;
  /** When it was started at the latest, by our clock; null: unknown. */
  readonly startedAt: number | null;
  /** Whether it has ever replicated, so that it may be a replica that was promoted. */
  readonly hasReplicated: boolean;
  readonly repliedAt: number;
}

/** Whether the section `crdt` of INFO may tell more: that of Redis Enterprise alone does. */
export const mayTellMore = (info: string) => /^rlec_version:/m.test(info);

/**
 * `info` is that of the sections `server` and `crdt`, `role` the reply to ROLE, which came at
 * `repliedAt`; null where they were refused.
 */
export function parseIdentity(
  info: string | null,
  role: unknown,
  repliedAt: number,
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
  };
}

/** Whether the server has refused to say what it is. */
export function isUnidentified({ runId, role }: ServerIdentity): boolean {
  return runId === null || role === null;
}

interface Known {
  readonly runId: string;
  readonly seenAt: number;
  /** When another server, which had not just been started, was first seen here; null: never. */
  readonly changedAt: number | null;
}

/** The servers known so far: one registry for all masters of a program. */
export class ServerRegistry {
  readonly #masterOf = new Map<string, string>();
  readonly #known = new Map<string, Known>();

  /** Registers a server. Returns why it may not vote, or null if it may. */
  admit(master: string, identity: ServerIdentity): Failed | null {
    const kind = kindOfFacts(identity);
    const known = this.#known.get(master);
    if (kind === replica && known !== undefined) {
      const why = 'has become a replica: its votes do not count (list its primary, or promote it)';
      return failed('reply', why);
    }
    if (kind !== null) return failed(kind.cause, kind.message ?? `is ${kind.name}`);
    const { runId, repliedAt } = identity;
    if (runId === null || known?.runId === runId) return null;
    const other = this.#masterOf.get(runId);
    if (other !== undefined && other !== master) {
      const why = `is the same server as ${other}: it would vote twice (list each server once)`;
      return failed('unfit', why);
    }
    if (known !== undefined) this.#masterOf.delete(known.runId);
    this.#masterOf.set(runId, master);
    const isOther = known !== undefined && (identity.startedAt ?? 0) < known.seenAt;
    this.#known.set(master, { runId, seenAt: repliedAt, changedAt: isOther ? repliedAt : null });
    return null;
  }

  /** When a server that had been running elsewhere was first seen at this address; null: never. */
  changedAt(master: string): number | null {
    return this.#known.get(master)?.changedAt ?? null;
  }
}
