// All checks of one master, applied to its facts. Pure. *Invariant:* the names of the functions are
// the names of the checks, which --json prints, so they do not change.

import { access, clock, clockRate, latency, rights, tls } from './access-checks.ts';
import type { Circumstances } from './check.ts';
import type { MasterFacts } from './facts.ts';
import type { Finding } from './finding.ts';
import { eviction, memory, mode, replicas, restart, role, version } from './server-checks.ts';

const checks = {
  latency,
  version,
  mode,
  role,
  replicas,
  restart,
  eviction,
  memory,
  clock,
  clockRate,
  rights,
  tls,
  access,
};

export const masterCheckNames = Object.keys(checks);

/** One finding for each check. */
export function masterFindings(
  master: string,
  facts: MasterFacts,
  circumstances: Circumstances,
): Finding[] {
  return Object.entries(checks).map(([check, judge]) => {
    const [grade, message, why = null, fix = null] = judge(facts, circumstances);
    return { check, grade, master, message, why, fix };
  });
}
