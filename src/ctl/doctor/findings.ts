// A finding of the doctor, which --json prints, and the form of a check that comes to it: a row of
// a table with why a fault matters, how to fix it, and what the facts show. Pure. "unknown" is a
// grade of its own, neither ok nor an error: a managed service that does not report whether it
// evicts may evict.

import type { MasterAddress } from '../../redis/address.ts';

export const grades = ['error', 'warning', 'unknown', 'ok'] as const;
export type Grade = (typeof grades)[number];

export interface Finding {
  /** The name of the check: `role`, `eviction`, ... Stable. */
  readonly check: string;
  readonly grade: Grade;
  /** null: about all masters together, or about the configuration. */
  readonly master: string | null;
  /** What was found. */
  readonly message: string;
  /** Why it matters; null with grade ok. */
  readonly why: string | null;
  /** How to fix it, most often a command; null with grade ok. */
  readonly fix: string | null;
}

/** `own`: in place of the texts of the row. */
export type Verdict = readonly [
  grade: Grade,
  message: string,
  own?: { readonly why?: string; readonly fix?: string },
];

type Text<Seen> = string | ((seen: Seen) => string);

export interface Check<Seen> {
  readonly why: Text<Seen>;
  readonly fix: Text<Seen>;
  readonly find: (seen: Seen) => Verdict | readonly Verdict[];
}

/** By name, in the order in which they are shown. The names do not change: --json prints them. */
export type Checks<Seen> = Readonly<Record<string, Check<Seen>>>;

/** `master`: null for what is about all masters together. */
export function findingsOf<Seen>(
  checks: Checks<Seen>,
  master: string | null,
  seen: Seen,
): Finding[] {
  const textOf = (text: Text<Seen>) => (typeof text === 'string' ? text : text(seen));
  return Object.entries(checks).flatMap(([check, { why, fix, find }]) => {
    const found = find(seen);
    const verdicts = (typeof found[0] === 'string' ? [found] : found) as readonly Verdict[];
    return verdicts.map(([grade, message, own = {}]): Finding => {
      const base = { check, grade, master, message };
      if (grade === 'ok') return { ...base, why: null, fix: null };
      return { ...base, why: own.why ?? textOf(why), fix: own.fix ?? textOf(fix) };
    });
  });
}

/** A shell line that runs these commands on the server. The user of the locks may hardly do so. */
export function redisCli(
  { path, host, port, tls, password, passwordSource, sentinels }: MasterAddress,
  ...commands: readonly string[]
): string {
  if (sentinels) return `on the primary: ${commands.map((one) => `redis-cli ${one}`).join(' && ')}`;
  const server = path === undefined ? `-h ${host} -p ${port}${tls ? ' --tls' : ''}` : `-s ${path}`;
  const line = commands.map((command) => `redis-cli ${server} ${command}`).join(' && ');
  return password === undefined && !passwordSource ? line : `as an administrator: ${line}`;
}

/** Whether the address uses no network: a unix socket, or a loopback address. */
export function isOnThisMachine({ path, host = '', sentinels }: MasterAddress): boolean {
  if (sentinels)
    return sentinels.hosts.every((one) => isOnThisMachine({ name: '', db: 0, ...one }));
  return path !== undefined || /^(localhost|127\..*|::1)$/i.test(host);
}
