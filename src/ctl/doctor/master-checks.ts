// All checks of one master. Pure. A clock that differs is only a warning, because every master
// counts a lease by its own clock; a clock that runs at another rate endangers locks. Persistence
// and the restart grace are one check, because either makes up for the other.

import { defaultDriftFactor } from '../../lock/quorum.ts';
import { sameMomentMs } from '../../redis/identity.ts';
import { uptimeErrorMs } from '../../redis/restart.ts';
import { roughly } from '../../text/lines.ts';
import { plural } from '../../text/plural.ts';
import { rateOf, tolerableRate } from './clock-rate.ts';
import type { MasterFacts } from './facts.ts';
import { type Checks, isOnThisMachine, redisCli, type Verdict } from './findings.ts';

/** What a master reports, and what runs expect of it. */
export interface SeenMaster extends MasterFacts {
  readonly restartGraceMs: number;
  /** Whether runs mark the masters, and the longest time for which one has had its mark. */
  readonly isMarked: boolean;
  readonly oldestMarkMs: number;
  readonly masterTimeoutMs: number;
  readonly isLocal: boolean;
}

/** Clocks that differ less are reported to agree. */
const agreedMs = 10;

const grantInfo = 'grant INFO (redlockctl acl prints the rules), or ask the provider';
const grantConfig =
  'grant CONFIG GET (redlockctl acl --config-get; it also shows passwords), or ask the provider';
const forgotten = 'it may have forgotten a lock that is still held';

export const masterChecks: Checks<SeenMaster> = {
  latency: {
    why: ({ masterTimeoutMs: ms }) =>
      `a master that does not answer within ${ms} ms counts as down`,
    fix: 'raise ttl or masterTimeout, or move the master nearer',
    find: ({ roundTripsMs, masterTimeoutMs }) => {
      const median = roundTripsMs[Math.floor(roundTripsMs.length / 2)] ?? 0;
      const grade = median * 4 < masterTimeoutMs ? 'ok' : 'warning';
      return [grade, `a round trip takes ${median.toFixed(1)} ms`];
    },
  },
  version: {
    why: 'versions of Redis before 6 are not supported',
    fix: 'upgrade the server',
    find: ({ server }) => {
      if (server === null) return ['unknown', 'does not tell its version', { fix: grantInfo }];
      const { name, version } = server;
      const message = name === 'Redis' ? `version ${version}` : `${name} ${version}`;
      return [Number(version.split('.')[0]) >= 6 ? 'ok' : 'error', message];
    },
  },
  mode: {
    why: 'masters must be independent: keys of a cluster move, and its failover forgets locks',
    fix: 'give the locks servers of their own, with cluster-enabled no',
    find: ({ mode }) => {
      if (mode === null)
        return ['unknown', 'does not tell whether it is part of a cluster', { fix: grantInfo }];
      return mode === 'standalone' ? ['ok', 'stands alone'] : ['error', `runs in ${mode} mode`];
    },
  },
  role: {
    why: 'what a replica holds is lost or doubled in a failover, and it takes no locks',
    fix: ({ address }) => `list its master instead, or ${redisCli(address, 'REPLICAOF NO ONE')}`,
    find: ({ role, replication }) => {
      if (role === 'active-replica' || replication !== null) {
        const other = 'replicates with other writable servers';
        const why = 'its vote is not its own: several may grant one lock';
        const fix = 'list servers that are written to in one place (KeyDB: active-replica no)';
        return [
          'error',
          replication === null ? other : 'is an Active-Active database',
          { why, fix },
        ];
      }
      if (role === null) return ['unknown', 'does not tell its role', { fix: 'grant ROLE' }];
      if (role === 'master') return ['ok', 'is a master'];
      return ['error', role === 'slave' ? 'is a replica' : `its role is ${role}`];
    },
  },
  replicas: {
    why:
      'replication lags: a promoted replica lacks the newest locks, ' +
      'and a second holder gets them',
    fix:
      'exclude it from failover (Sentinel: replica-priority 0 on each replica), ' +
      'or give the locks a server of their own',
    find: ({ replicaCount, address }) => {
      if (address.sentinels) {
        const why =
          'a failover forgets the newest locks, and cut off from the sentinels the old primary ' +
          'goes on: for a moment two may hold one lock';
        const fix =
          'list three independent masters where that matters; min-replicas-to-write 1 on the ' +
          'primary makes it rarer';
        const message = 'follows a primary by its sentinels: one vote, and no independent master';
        return ['warning', message, { why, fix }];
      }
      if (replicaCount === null)
        return ['unknown', 'does not tell its replicas', { fix: grantInfo }];
      if (replicaCount === 0) return ['ok', 'has no replicas'];
      return ['warning', `has ${plural(replicaCount, 'replica')}`];
    },
  },
  restart: {
    why:
      'a master that restarts empty, or without its last second, ' +
      'grants a lock that is still held',
    // Two pairs in one CONFIG SET need version 7.
    fix: ({ address }) =>
      'set restartGrace to the longest ttl in use, or ' +
      redisCli(address, 'CONFIG SET appendfsync always', 'CONFIG SET appendonly yes'),
    find: findRestart,
  },
  mark: {
    why: forgotten,
    fix: 'wait',
    find: findMark,
  },
  eviction: {
    why: 'an evicted lock is granted to the next client while its holder still works',
    fix: ({ address }) => redisCli(address, 'CONFIG SET maxmemory-policy noeviction'),
    find: ({ maxMemory, evictionPolicy: policy }) => {
      if (policy === null)
        return ['unknown', 'does not tell whether it evicts', { fix: grantInfo }];
      if (policy === 'noeviction') return ['ok', 'never evicts'];
      const message = `maxmemory-policy is ${policy}`;
      if (maxMemory !== 0) return ['error', message];
      return ['warning', `${message}, without a maxmemory so far`];
    },
  },
  memory: {
    why: 'a full master grants no locks, and counts as failed',
    fix: ({ maxMemory, usedMemory, address }) => {
      const enoughMiB = Math.ceil((2 * Math.max(Number(maxMemory), Number(usedMemory))) / 2 ** 20);
      return redisCli(address, `CONFIG SET maxmemory ${enoughMiB}mb`);
    },
    find: ({ maxMemory, usedMemory }) => {
      if (maxMemory === null || usedMemory === null)
        return ['unknown', 'does not tell how full it is', { fix: grantInfo }];
      if (maxMemory === 0) return ['ok', 'has no memory limit'];
      const percent = Math.round((100 * usedMemory) / maxMemory);
      return [percent < 90 ? 'ok' : 'warning', `${percent}% of maxmemory is used`];
    },
  },
  clock: {
    why: 'keys expire by it: a correction in one step ends locks too early or keeps them too long',
    fix: 'run chronyd or ntpd there and here, with slewing and without makestep after the start',
    find: ({ clockReadings }) => {
      const { aheadMs = 0, uncertaintyMs = 0 } = clockReadings.at(-1) ?? {};
      const differenceMs = Math.abs(aheadMs);
      if (differenceMs <= Math.max(uncertaintyMs, agreedMs))
        return ['ok', 'its clock agrees with ours'];
      const direction = aheadMs >= 0 ? 'ahead of' : 'behind';
      const message = `its clock is ${roughly(Math.round(differenceMs))} ${direction} ours`;
      return [differenceMs - uncertaintyMs < 1_000 ? 'ok' : 'warning', message];
    },
  },
  clockRate: {
    why:
      `the drift allowance is ${defaultDriftFactor * 100}%: ` +
      'beyond it a lock may expire before its holder stops',
    fix: 'check its clock source; virtual machines need a paravirtual clock',
    find: ({ clockReadings }) => {
      const measured = rateOf(clockReadings);
      if (measured === null)
        return ['unknown', 'its clock was set while it was watched', { fix: 'try again' }];
      const { rate, certain } = measured;
      if (Math.abs(certain) < tolerableRate) return ['ok', 'its clock runs as fast as ours'];
      const percent = Math.abs(rate * 100).toFixed(2);
      const message = `its clock runs ${percent}% ${rate >= 0 ? 'faster' : 'slower'} than ours`;
      return [Math.abs(certain) < defaultDriftFactor ? 'warning' : 'error', message];
    },
  },
  rights: {
    why: 'a master that refuses does not vote',
    fix: ({ refusal }) =>
      refusal?.cause === 'denied'
        ? 'give the user the rules that redlockctl acl prints'
        : 'see the message of the server',
    find: ({ refusal }) =>
      refusal === null
        ? ['ok', 'a lock can be acquired, waited for, extended and released']
        : ['error', `no lock can be kept: ${refusal.message}`],
  },
  tls: {
    why: 'a reader of the traffic learns passwords and tokens, and can end locks with them',
    fix: 'let the server listen with tls-port, and write rediss://',
    find: ({ address }) => {
      if (address.path !== undefined) return ['ok', 'is reached over a unix socket'];
      if (address.tls) return ['ok', 'is reached over TLS'];
      if (isOnThisMachine(address)) return ['ok', 'is reached over loopback'];
      return ['warning', 'is reached without TLS'];
    },
  },
  access: {
    why: 'every client that reaches the port can end and acquire locks',
    fix: 'set requirepass or an ACL user (redlockctl acl prints the rules)',
    find: findAccess,
  },
};

/** How long it has had its mark; null: it has none. */
export function markedForMs({ mark, repliedAt }: MasterFacts): number | null {
  return mark?.id ? repliedAt - mark.since : null;
}

/** Whether a server is new or was emptied, so that its votes do not count: redis/restart.ts. */
function isEmptied(seen: SeenMaster): boolean {
  const { mark, uptimeMs, isMarked, oldestMarkMs, restartGraceMs } = seen;
  const forMs = markedForMs(seen) ?? 0;
  if (!isMarked || mark === null || forMs >= restartGraceMs) return false;
  return uptimeMs === null || uptimeMs < restartGraceMs || oldestMarkMs - forMs > sameMomentMs;
}

const isDurable = ({ isAppending, fsync }: SeenMaster) => isAppending && fsync === 'always';

/** Whether its votes do not count yet: what it may have forgotten may still be held. */
export function isWaitedFor(seen: SeenMaster): boolean {
  const { uptimeMs, restartGraceMs } = seen;
  const isYoung = uptimeMs !== null && uptimeMs < restartGraceMs;
  return isEmptied(seen) || (isYoung && !isDurable(seen));
}

function findMark(seen: SeenMaster): Verdict {
  const { mark, isMarked, oldestMarkMs, restartGraceMs } = seen;
  if (!isMarked) return ['ok', 'needs no mark: there is no restart grace'];
  if (mark === null) {
    const why = 'a server that was emptied, and says that it keeps everything, votes at once';
    return ['unknown', 'does not show its mark', { why, fix: 'redlockctl acl prints the rules' }];
  }
  const forMs = markedForMs(seen);
  const isYounger = oldestMarkMs - (forMs ?? 0) > sameMomentMs;
  if (!isEmptied(seen)) {
    if (forMs === null) return ['ok', 'is marked by the next run'];
    const before = `: it was new, empty or down before (the oldest: ${roughly(oldestMarkMs)} ago)`;
    return ['ok', `marked ${roughly(forMs)} ago${isYounger ? before : ''}`];
  }
  const what = isYounger
    ? 'has lost its mark, or is new'
    : 'is new, or was emptied with the others';
  if (forMs !== null)
    return ['warning', `${what}: does not vote for ${roughly(restartGraceMs - forMs)}`];
  // The next run marks it, and the time without a vote begins with the mark.
  const when = `votes within ${roughly(restartGraceMs)} of the next run`;
  return ['warning', `${what}: ${when}`, { fix: 'start a run: it waits for that' }];
}

function findRestart(seen: SeenMaster): Verdict {
  const { isAppending, fsync, uptimeMs, restartGraceMs } = seen;
  if (isDurable(seen)) {
    if (isEmptied(seen)) return ['ok', 'keeps every change from now on'];
    // Older than its last start: what it says about its disk has been shown.
    const isShown = uptimeMs !== null && (markedForMs(seen) ?? 0) > uptimeMs + uptimeErrorMs;
    const what = 'keeps every change over a restart';
    return ['ok', isShown ? `${what}, as its mark shows` : `says that it ${what}`];
  }
  if (restartGraceMs > 0) {
    if (uptimeMs === null) {
      const why = 'the restart grace works only where the server tells since when it runs';
      return ['unknown', 'does not tell since when it runs', { why, fix: grantInfo }];
    }
    if (uptimeMs >= restartGraceMs)
      return ['ok', `does not vote for ${roughly(restartGraceMs)} after a restart`];
    const rest = roughly(restartGraceMs - uptimeMs);
    const message = `restarted ${roughly(uptimeMs)} ago: does not vote for another ${rest}`;
    return ['warning', message, { why: forgotten, fix: 'wait' }];
  }
  if (seen.isLocal) {
    const fix = 'use masters of your own where it matters';
    return ['warning', 'forgets all locks when it is ended', { fix }];
  }
  if (isAppending === null || (isAppending && fsync === null)) {
    const fix = `${grantConfig}, or set restartGrace`;
    return ['unknown', 'does not tell whether a restart forgets locks', { fix }];
  }
  return ['error', isAppending ? `appendfsync is ${fsync}` : 'keeps nothing over a restart'];
}

function findAccess({ isOpen, isProtected, bind, address }: SeenMaster): Verdict {
  if (isOpen === false) return ['ok', 'asks for a password'];
  if (isOpen === null) return ['unknown', 'did not say whether it asks for a password'];
  if (!isOnThisMachine(address)) return ['error', 'answers every client that reaches its port'];
  if (bind === null) {
    if (address.path !== undefined)
      return ['ok', 'answers on a unix socket, which file permissions protect'];
    const message = 'asks for no password, and does not tell where it listens';
    return ['unknown', message, { fix: grantConfig }];
  }
  const isLoopback = bind.split(' ').every((one) => /^-?(127\..*|::1)$/.test(one));
  if (isLoopback || isProtected)
    return ['ok', 'asks for no password, but answers this machine only'];
  return ['error', `asks for no password and listens on ${bind || 'all addresses'}`];
}
