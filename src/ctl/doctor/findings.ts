// The findings of the doctor, which --json prints: their form, the form of a check of one master
// that comes to one (facts in, a verdict out), and what several checks say of an address or of a
// remedy. Pure. "unknown" is a grade of its own, neither ok nor an error: a managed service that
// does not tell whether it evicts may evict.

import type { MasterAddress } from '../../redis/address.ts';
import type { MasterFacts } from './facts.ts';

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

export interface Circumstances {
  readonly restartGraceMs: number;
  /** Whether runs mark the masters, and the longest time for which one has had its mark. */
  readonly isMarked: boolean;
  readonly oldestMarkMs: number;
  readonly masterTimeoutMs: number;
  readonly isLocal: boolean;
}

export type Verdict = readonly [grade: Grade, message: string, why?: string, fix?: string];
export type Check = (facts: MasterFacts, circumstances: Circumstances) => Verdict;

export const grantInfo = 'grant INFO (redlockctl acl prints the rules), or ask the provider';
export const grantConfig =
  'grant CONFIG GET (redlockctl acl --config-get; it also shows passwords), or ask the provider';

export type Assessment = Pick<Finding, 'grade' | 'message' | 'why' | 'fix'>;
