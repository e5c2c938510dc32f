// Which server answers at an address, from its replies to INFO server and ROLE, and whether it may
// be in the list of masters. *Note:* addresses do not identify a server: two names, two ports (a
// proxy) or two databases may be one server, which would vote twice. The run_id that it draws at
// its start does.

export interface ServerIdentity {
  /** null: INFO was refused (an ACL, a managed service), so duplicates cannot be detected. */
  readonly runId: string | null;
  readonly isReplica: boolean;
  /** When it was started at the latest, by our clock; null: unknown. */
  readonly startedAt: number | null;
}

/** `info` and `role` are the raw replies that came at `repliedAt`; null where they were refused. */
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

/** The servers known so far: one registry for all masters of a program. */
export class ServerRegistry {
  readonly #masterOf = new Map<string, string>();
  readonly #runIdOf = new Map<string, string>();

  /** Registers a server. Returns why it may not vote, or null if it may. */
  admit(master: string, identity: ServerIdentity): string | null {
    if (identity.isReplica) {
      return (
        'is a replica: what it holds is lost or doubled in a failover ' +
        '(list independent masters only)'
      );
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
