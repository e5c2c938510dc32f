// The kinds of servers that answer at the address of a master: how each is told, from what is asked
// when connecting or from an error reply, and what its vote is worth. The table is repeated in
// docs/masters.md.
// *Note:* what a server does not tell never counts against it: many managed services forbid INFO.

import type { FailureCause } from '../lock/types.ts';

/** What a server says about itself; null: it does not say. */
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
  /** How what it says tells this kind. */
  readonly fact?: Partial<Record<keyof ServerFacts, string>>;
  /** The error replies of this kind. */
  readonly error?: RegExp;
  /** misconfigured: it can never vote. The others: it does not vote now. */
  readonly cause: Extract<FailureCause, 'misconfigured' | 'denied' | 'reply' | 'connection'>;
  /** What it is, where the server does not say it itself. */
  readonly message?: string;
  /** What to do. */
  readonly advice?: string;
  /** Whether another server may answer at this address when it is dialled again. */
  readonly isStale?: boolean;
}

/** Matches an error code at the start of a reply, or in what Redis 6 says around it in scripts. */
const code = (word: string) => new RegExp(`^(?:ERR Error running script .*[ -])?${word}\\b`, 's');

const anyOf = (...forms: readonly RegExp[]) =>
  new RegExp(forms.map(({ source }) => source).join('|'), 'i');

export const replica: ServerKind = {
  name: 'a replica',
  fact: { role: 'slave' },
  cause: 'misconfigured',
  message: 'is a replica: what it holds is lost or doubled in a failover',
  advice: 'list independent masters only',
};

const activeReplica: ServerKind = {
  name: 'servers that replicate into each other',
  fact: { role: 'active-replica' },
  cause: 'misconfigured',
  message: 'replicates with other writable servers: a vote of one would become a vote of all',
  advice: 'list independent masters, with active-replica no',
};

const activeActive: ServerKind = {
  name: 'an Active-Active database',
  fact: { replication: 'active-active' },
  cause: 'misconfigured',
  message: 'is an Active-Active database: two places may grant the same lock, and are merged later',
  advice: 'list databases that are written to in one place',
};

/** The first that fits counts. */
export const serverKinds: readonly ServerKind[] = [
  {
    name: 'a node of a cluster',
    fact: { mode: 'cluster' },
    error: /^(MOVED|ASK|CLUSTERDOWN|CROSSSLOT|TRYAGAIN)\b|SELECT is not allowed in cluster mode/,
    cause: 'misconfigured',
    message: 'is a node of a cluster: the nodes are not independent, and keys move between them',
    advice: 'list servers with cluster-enabled no',
  },
  {
    name: 'a sentinel',
    fact: { mode: 'sentinel' },
    cause: 'misconfigured',
    message: 'is a sentinel and keeps no keys',
    advice: 'write redis+sentinel://HOST:PORT/NAME for one vote that follows the primary',
  },
  replica,
  activeReplica,
  activeActive,
  {
    name: 'a server without scripts',
    error: anyOf(
      /unknown command [`'"]?eval\b/,
      /unsupported command.*\beval\b/,
      /Lua scripting support disabled/,
      /Unknown (Redis )?command called from (Lua )?script/,
    ),
    cause: 'misconfigured',
    message: 'does not run scripts, or not every command in them: it cannot keep a lock',
    advice: 'enable EVAL: Garnet needs --lua; see rename-command',
  },
  {
    name: 'a server that is loading',
    error: code('LOADING'),
    cause: 'reply',
    advice: 'it votes when it has loaded its data',
  },
  {
    name: 'a busy server',
    error: code('BUSY'),
    cause: 'reply',
    advice: 'a script of another program runs on it: SCRIPT KILL ends it',
  },
  {
    name: 'a server that cannot save',
    error: code('MISCONF'),
    cause: 'reply',
    advice: 'see its log and its disk; it takes no writes until it can save',
  },
  {
    name: 'a server out of memory',
    error: code('OOM'),
    cause: 'reply',
    advice: 'raise its maxmemory, or free some',
  },
  {
    name: 'a server with too few replicas',
    error: code('NOREPLICAS'),
    cause: 'reply',
    advice: 'see its replicas, or min-replicas-to-write',
  },
  {
    name: 'a server that has become read-only',
    error: code('READONLY'),
    cause: 'reply',
    advice: 'it has become a replica, or is read-only: list its primary',
    isStale: true,
  },
  {
    name: 'a replica without its primary',
    error: code('MASTERDOWN'),
    cause: 'reply',
    advice: 'it is a replica: list its primary',
    isStale: true,
  },
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

/** The kind that these facts tell; null: a server that may vote, as far as it says. */
export function kindOfFacts(facts: ServerFacts): ServerKind | null {
  const isTold = ({ fact }: ServerKind) =>
    fact !== undefined &&
    Object.entries(fact).every(([name, word]) => facts[name as keyof ServerFacts] === word);
  return serverKinds.find(isTold) ?? null;
}

/** The kind that an error reply tells; null: none of these. */
export function kindOfError(message: string): ServerKind | null {
  return serverKinds.find(({ error }) => error?.test(message)) ?? null;
}
