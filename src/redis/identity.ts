// Which server answers at an address, from its replies to INFO server and ROLE, and whether it may
// stand in the list. Addresses prove nothing: two names, two ports (a proxy) or two databases may
// be one server, which would then vote twice; only the run_id that a server draws when it starts
// tells.

export interface ServerIdentity {
  /** null: INFO was refused (an ACL, a managed service), so duplicates cannot be seen. */
  readonly runId: string | null;
  readonly isReplica: boolean;
  /** When it was started, on our clock, at the latest; null: unknown. */
  readonly startedAt: number | null;
}

/** `info` and `role` are the raw replies that came at `repliedAt`, or null where the server refused to answer. */
export function parseIdentity(
  info: string | null,
  role: unknown,
  repliedAt: number,
): ServerIdentity {
  const fact = (name: string) =>
    new RegExp(`^${name}:(\\w{1,64})\\r?$`, 'm').exec(info ?? '')?.[1] ?? null;
  const uptimeSeconds = fact('uptime_in_seconds');
  return {
    runId: fact('run_id'),
    isReplica: Array.isArray(role) && role[0] === 'slave',
    startedAt: /^\d{1,12}$/.test(uptimeSeconds ?? '')
      ? repliedAt - Number(uptimeSeconds) * 1000
      : null,
  };
}

/** The servers seen so far, one list for all masters of a program. */
export class ServerRegistry {
  readonly #masterOf = new Map<string, string>();
  readonly #runIdOf = new Map<string, string>();

  /** Takes note of a server. Returns why it may not vote, or null if it may. */
  admit(master: string, identity: ServerIdentity): string | null {
    if (identity.isReplica) {
      return 'is a replica: what it holds is lost or doubled in a failover (list independent masters only)';
    }
    const { runId } = identity;
    if (runId === null) return null;
    const known = this.#masterOf.get(runId);
    if (known === master) return null;
    if (known !== undefined) {
      return `is the same server as ${known}: it would vote twice (list each server once)`;
    }
    const former = this.#runIdOf.get(master);
    if (former !== undefined) this.#masterOf.delete(former);
    this.#masterOf.set(runId, master);
    this.#runIdOf.set(master, runId);
    return null;
  }
}
