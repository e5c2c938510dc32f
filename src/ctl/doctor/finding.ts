// One finding of the doctor, which is also what --json prints. The surprise: "unknown" is a grade of its own, neither fine nor wrong: a
// managed service that will not tell whether it evicts may evict.

import type { MasterAddress } from '../../redis/address.ts';

export const grades = ['error', 'warning', 'unknown', 'ok'] as const;
export type Grade = (typeof grades)[number];

export interface Finding {
  /** What was looked at: `role`, `eviction`, ... Stable. */
  readonly check: string;
  readonly grade: Grade;
  /** null: of all masters together, or of the configuration. */
  readonly master: string | null;
  /** What is so. */
  readonly message: string;
  /** Why it matters; null when all is well. */
  readonly why: string | null;
  /** What mends it, most often a command; null when nothing has to be mended. */
  readonly fix: string | null;
}

/** The line for a shell that has a server do these things. Who we log in as may most likely not, so nobody is named. */
export function redisCli(
  { path, host, port, tls, password }: MasterAddress,
  ...commands: readonly string[]
): string {
  const place = path === undefined ? `-h ${host} -p ${port}${tls ? ' --tls' : ''}` : `-s ${path}`;
  const line = commands.map((command) => `redis-cli ${place} ${command}`).join(' && ');
  return password === undefined ? line : `as an administrator: ${line}`;
}

/** Whether the address leads over no network: a unix socket or this machine by name. */
export function isOnThisMachine({ path, host = '' }: MasterAddress): boolean {
  return path !== undefined || /^(localhost|127\..*|::1)$/i.test(host);
}
