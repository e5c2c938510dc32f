// The kinds of servers that answer at the address of a master: how each is recognised, from what is
// asked when connecting or from an error reply, and what its vote is worth. The table is repeated
// in docs/masters.md.
// *Note:* what a server does not report never counts against it: many managed services forbid INFO.

import type { FailureCause } from '../lock/types.ts';

/** What a server reports of itself; null: nothing. */
export interface ServerFacts {
  /** `standalone`, `cluster` or `sentinel`. */
  readonly mode: string | null;
  /** `master`, `slave`, `sentinel` or, of KeyDB, `active-replica`. */
  readonly role: string | null;
  /** `active-active`: of Redis Enterprise, written to in several places and merged. */
  readonly replication: string | null;
}

export interface ServerKind {
  readonly name: string;
  /** The fact by which this kind is recognised. */
  readonly fact?: Partial<ServerFacts>;
  /** The error replies of this kind. */
  readonly error?: RegExp;
  /** misconfigured: it can never vote. The others: it does not vote now. */
  readonly cause: FailureCause;
  /** Absent: the error reply. */
  readonly message?: string;
  readonly advice: string;
  /** Whether another server may answer at this address when it is dialled again. */
  readonly isStale?: boolean;
}

/** A server that can never vote. */
function never(
  name: string,
  sign: Pick<ServerKind, 'fact' | 'error'>,
  message: string,
  advice: string,
): ServerKind {
  return { name, ...sign, cause: 'misconfigured', message, advice };
}

/**
 * A server that does not vote now. `code` begins its error reply; Redis 6 puts more in front of an
 * error in a script.
 */
function notNow(name: string, code: string, advice: string, isStale = false): ServerKind {
  const error = new RegExp(`^(?:ERR Error running script .*[ -])?${code}\\b`, 's');
  return { name, error, cause: 'reply', advice, isStale };
}

export const replica = never(
  'a replica',
  { fact: { role: 'slave' } },
  'is a replica: what it holds is lost or doubled in a failover',
  'list independent masters only',
);

const noScripts = [
  'unknown command [`\'"]?eval\\b',
  'unsupported command.*\\beval\\b',
  'Lua scripting support disabled',
  'Unknown (Redis )?command called from (Lua )?script',
];

/** The first that fits counts. */
const serverKinds: readonly ServerKind[] = [
  never(
    'a node of a cluster',
    {
      fact: { mode: 'cluster' },
      error: /^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT|TRYAGAIN)\b|SELECT is not allowed in cluster mode/,
    },
    'is a node of a cluster: the nodes are not independent, and keys move between them',
    'list servers with cluster-enabled no',
  ),
  never(
    'a sentinel',
    { fact: { mode: 'sentinel' } },
    'is a sentinel and keeps no keys',
    'write redis+sentinel://HOST:PORT/NAME for one vote that follows the primary',
  ),
  replica,
  never(
    'servers that replicate into each other',
    { fact: { role: 'active-replica' } },
    'replicates with other writable servers: a vote of one would become a vote of all',
    'list independent masters, with active-replica no',
  ),
  never(
    'an Active-Active database',
    { fact: { replication: 'active-active' } },
    'is an Active-Active database: two places may grant the same lock, and are merged later',
    'list databases that are written to in one place',
  ),
  never(
    'a server without scripts',
    { error: new RegExp(noScripts.join('|'), 'i') },
    'does not run scripts, or not every command in them: it cannot keep a lock',
    'enable EVAL: Garnet needs --lua; see rename-command',
  ),
  notNow('a server that is loading', 'LOADING', 'it votes when it has loaded its data'),
  notNow('a busy server', 'BUSY', 'a script of another program runs on it: SCRIPT KILL ends it'),
  notNow(
    'a server that cannot save',
    'MISCONF',
    'see its log and its disk; it takes no writes until it can save',
  ),
  notNow('a server out of memory', 'OOM', 'raise its maxmemory, or free some'),
  notNow(
    'a server with too few replicas',
    'NOREPLICAS',
    'see its replicas, or min-replicas-to-write',
  ),
  notNow(
    'a server that has become read-only',
    'READONLY',
    'it has become a replica, or is read-only: list its primary',
    true,
  ),
  notNow('a replica without its primary', 'MASTERDOWN', 'it is a replica: list its primary', true),
  {
    name: 'a server without room for a client',
    error: /^ERR max number of clients/,
    cause: 'connection',
    advice: 'raise its maxclients',
  },
  {
    name: 'a server in protected mode',
    error: /^DENIED\b/,
    cause: 'denied',
    message: 'DENIED: its protected mode refuses clients of other machines',
    advice: 'set a password on it, and passwordFile here',
  },
  {
    name: 'a server without this database',
    error: /DB index is out of range/,
    cause: 'denied',
    advice: 'name a database that the server has',
  },
];

/** The kind that has one of these facts; null: a server that may vote, as far as is known. */
export function kindOfFacts(facts: ServerFacts): ServerKind | null {
  const has = ([name, value]: [string, unknown]) => facts[name as keyof ServerFacts] === value;
  return serverKinds.find(({ fact }) => fact && Object.entries(fact).every(has)) ?? null;
}

/** The kind of an error reply; null: none of these. */
export function kindOfError(message: string): ServerKind | null {
  return serverKinds.find(({ error }) => error?.test(message)) ?? null;
}
