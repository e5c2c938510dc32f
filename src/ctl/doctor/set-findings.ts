// The checks that do not look at the facts of one master: whether it was reached, the masters as a
// set, whether this machine can guard a command, and the configuration. Pure. *Note:* only
// addresses tell whether masters share a host; two names of one host count as two hosts.

import type { ConfigWarning } from '../../config/layer.ts';
import { quorumOf } from '../../lock/quorum.ts';
import type { Failed } from '../../lock/types.ts';
import { endpointOf, type MasterAddress } from '../../redis/address.ts';
import { isFailed } from '../../redis/errors.ts';
import { plural } from '../../text/plural.ts';
import type { MasterFacts } from './facts.ts';
import { type Assessment, isOnThisMachine } from './findings.ts';

const ok = (message: string): Assessment => ({ grade: 'ok', message, why: null, fix: null });

export function reachable(failed: Failed | null): Assessment {
  if (failed === null) return ok('reached');
  const why = 'it does not vote: the quorum has to come from the others';
  const { message, advice: fix = 'check that it runs and can be reached from here' } = failed;
  return { grade: 'error', message, why, fix };
}

/** Whether a lock could be acquired now. `isWaitedFor`: whether a master does not vote yet. */
export function quorum(
  facts: readonly (MasterFacts | Failed)[],
  isWaitedFor: (fact: MasterFacts) => boolean,
): Assessment {
  const fit = facts.filter((fact): fact is MasterFacts => !isFailed(fact) && fact.refusal === null);
  const fitCount = fit.length;
  const votingCount = fit.filter((fact) => !isWaitedFor(fact)).length;
  const needed = quorumOf(facts.length);
  const message = `${fitCount} of ${facts.length} masters keep locks, ${needed} are needed`;
  const votes = `${votingCount} of ${facts.length} masters vote, ${needed} are needed`;
  if (votingCount >= needed) return ok(message);
  if (fitCount >= needed)
    return {
      grade: 'warning',
      message: `no quorum yet: ${votes}`,
      why: 'no lock can be acquired until more of them vote',
      fix: 'do what the lines of these masters say',
    };
  return {
    grade: 'error',
    message: `no quorum: ${message}`,
    why: 'no lock can be acquired, and holders lose theirs',
    fix: 'fix the masters that do not answer or refuse',
  };
}

/** Whether a run can guard its command on this machine. */
export function guard(obstacle: string | null): Assessment {
  if (obstacle === null) return ok('a command can be guarded on this machine');
  return {
    grade: 'error',
    message: obstacle,
    why: 'no run on this machine starts its command (69 or 78)',
    fix: 'install what is missing: docs/install.md, "What it needs"',
  };
}

/** The number of masters. */
export function count(masterCount: number): Assessment {
  const survived = masterCount - quorumOf(masterCount);
  const mayFail = `${survived || 'none'} may fail`;
  const message = `${plural(masterCount, 'master')}: ${mayFail}`;
  if (masterCount % 2 === 1 && masterCount > 1) return ok(message);
  const why =
    masterCount === 1
      ? 'when it fails, no lock can be acquired'
      : `as with ${masterCount - 1}, and there is one more that can fail`;
  return { grade: 'warning', message, why, fix: 'use three or five' };
}

/** Whether the masters fail together. */
export function hosts(addresses: readonly MasterAddress[]): Assessment {
  const names = addresses.map((address) =>
    isOnThisMachine(address) ? 'this machine' : (address.host ?? endpointOf(address)).toLowerCase(),
  );
  const [name, members] = [...new Set(names)]
    .map((host) => [host, names.filter((other) => other === host)] as const)
    .sort(([, a], [, b]) => b.length - a.length)[0] ?? ['', []];
  if (members.length < 2) return ok('each on a host of its own, as far as addresses tell');
  const why =
    members.length >= quorumOf(names.length)
      ? 'when that host fails there is no quorum'
      : 'they fail together';
  return {
    grade: 'warning',
    message: `${members.length} on ${name}`,
    why,
    fix: 'put each on a machine of its own, that does not fail with the others',
  };
}

/** The same server under several addresses. */
export function duplicates(facts: readonly (MasterFacts | Failed)[]): Assessment {
  const known = facts.filter((fact): fact is MasterFacts => !isFailed(fact));
  const why = 'one server would vote twice, and a minority could grant a lock';
  for (const { runId, address } of known) {
    const same = known.filter((other) => runId !== null && other.runId === runId);
    if (same.length < 2) continue;
    const others = same
      .filter((other) => other.address !== address)
      .map((other) => other.address.name);
    return {
      grade: 'error',
      message: `${address.name} is the same server as ${others.join(', ')}`,
      why,
      fix: 'list each server once',
    };
  }
  const silentCount = known.filter(({ runId }) => runId === null).length;
  if (silentCount === 0) return ok('no server is listed twice');
  const message = `${plural(silentCount, 'master does', 'masters do')} not tell a run_id`;
  return {
    grade: 'unknown',
    message,
    why,
    fix: 'grant INFO, or check that no server is listed twice',
  };
}

/** Permissions of files with secrets, from the warnings of reading the configuration. */
export function configFile(
  path: string | null,
  minorWarnings: readonly ConfigWarning[],
): Assessment {
  const exposed = minorWarnings.filter(({ kind }) => kind === 'exposed-secret');
  if (exposed.length === 0)
    return ok(path === null ? 'no configuration file' : `${path}: shows no password to others`);
  const why = 'every user of this machine could read the password and end locks';
  return {
    grade: 'error',
    message: exposed.map(({ file, message }) => `${file}: ${message}`).join('; '),
    why,
    fix: `chmod 600 ${exposed.map(({ file }) => file).join(' ')}`,
  };
}
