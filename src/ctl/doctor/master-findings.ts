// All checks of one master, applied to its facts: access (latency, clock, rights, encryption,
// password) and server (version, mode, role, persistence, eviction, memory). Pure. *Invariant:* the
// names of the functions are the names of the checks, which --json prints, so they do not change. A
// clock that differs is only a warning, because every master counts a lease by its own clock; a
// clock that runs at another rate endangers locks. What a restart
// forgets is in restart-findings.ts.

import { defaultDriftFactor } from '../../lock/quorum.ts';
import { roughly } from '../../text/lines.ts';
import { plural } from '../../text/plural.ts';
import { rateOf, tolerableRate } from './clock-rate.ts';
import type { MasterFacts } from './facts.ts';
import {
  type Check,
  type Circumstances,
  type Finding,
  grantConfig,
  grantInfo,
  isOnThisMachine,
  redisCli,
} from './findings.ts';
import { mark, restart } from './restart-findings.ts';

export const latency: Check = ({ roundTripsMs }, { masterTimeoutMs }) => {
  const median = roundTripsMs[Math.floor(roundTripsMs.length / 2)] ?? 0;
  const message = `a round trip takes ${median.toFixed(1)} ms`;
  if (median * 4 < masterTimeoutMs) return ['ok', message];
  const why = `a master that does not answer within ${masterTimeoutMs} ms counts as down`;
  return ['warning', message, why, 'raise ttl or masterTimeout, or move the master nearer'];
};

/** Clocks that differ less are told to agree. */
const agreedMs = 10;

export const clock: Check = ({ clockReadings }) => {
  const aheadMs = clockReadings.at(-1)?.aheadMs ?? 0;
  const uncertaintyMs = clockReadings.at(-1)?.uncertaintyMs ?? 0;
  if (Math.abs(aheadMs) <= Math.max(uncertaintyMs, agreedMs))
    return ['ok', 'its clock agrees with ours'];
  const difference = roughly(Math.abs(Math.round(aheadMs)));
  const message = `its clock is ${difference} ${aheadMs >= 0 ? 'ahead of' : 'behind'} ours`;
  if (Math.abs(aheadMs) - uncertaintyMs < 1_000) return ['ok', message];
  const why =
    'keys expire by it: a correction in one step ends locks too early or keeps them too long';
  return [
    'warning',
    message,
    why,
    'run chronyd or ntpd there and here, with slewing and without makestep after the start',
  ];
};

export const clockRate: Check = ({ clockReadings }) => {
  const measured = rateOf(clockReadings);
  const { rate, least } = measured ?? { rate: 0, least: 0 };
  const percent = Math.abs(rate * 100).toFixed(2);
  const message = `its clock runs ${percent}% ${rate >= 0 ? 'faster' : 'slower'} than ours`;
  if (measured === null)
    return ['unknown', 'its clock was set while it was watched', 'keys expire by it', 'try again'];
  if (Math.abs(least) < tolerableRate) return ['ok', 'its clock runs as fast as ours'];
  const allowance = `the drift allowance is ${defaultDriftFactor * 100}%`;
  const why = `${allowance}: beyond it a lock may expire before its holder stops`;
  return [
    Math.abs(least) < defaultDriftFactor ? 'warning' : 'error',
    message,
    why,
    'check its clock source; virtual machines need a paravirtual clock',
  ];
};

export const rights: Check = ({ refusal }) => {
  if (refusal === null) return ['ok', 'a lock can be acquired, waited for, extended and released'];
  const fix =
    refusal.cause === 'denied'
      ? 'give the user the rules that redlockctl acl prints'
      : 'see the message of the server';
  return [
    'error',
    `no lock can be kept: ${refusal.message}`,
    'a master that refuses does not vote',
    fix,
  ];
};

export const tls: Check = ({ address }) => {
  if (address.path !== undefined) return ['ok', 'is reached over a unix socket'];
  if (address.tls) return ['ok', 'is reached over TLS'];
  if (isOnThisMachine(address)) return ['ok', 'is reached over loopback'];
  const why = 'a reader of the traffic learns passwords and tokens, and can end locks with them';
  return [
    'warning',
    'is reached without TLS',
    why,
    'let the server listen with tls-port, and write rediss://',
  ];
};

export const access: Check = ({ isOpen, isProtected, bind, address }) => {
  const why = 'every client that reaches the port can end and acquire locks';
  const fix = 'set requirepass or an ACL user (redlockctl acl prints the rules)';
  if (isOpen === false) return ['ok', 'asks for a password'];
  if (isOpen === null) return ['unknown', 'did not say whether it asks for a password', why, fix];
  if (!isOnThisMachine(address))
    return ['error', 'answers every client that reaches its port', why, fix];
  if (address.path !== undefined && bind === null)
    return ['ok', 'answers on a unix socket, which file permissions protect'];
  if (bind === null)
    return [
      'unknown',
      'asks for no password, and does not tell where it listens',
      why,
      grantConfig,
    ];
  const isLoopback = bind.split(' ').every((one) => /^-?(127\..*|::1)$/.test(one));
  if (isLoopback || isProtected)
    return ['ok', 'asks for no password, but answers this machine only'];
  return ['error', `asks for no password and listens on ${bind || 'all addresses'}`, why, fix];
};

export const version: Check = ({ server }) => {
  const why = 'versions of Redis before 6 are not supported';
  if (server === null) return ['unknown', 'does not tell its version', why, grantInfo];
  const { name, version } = server;
  const message = name === 'Redis' ? `version ${version}` : `${name} ${version}`;
  if (Number(version.split('.')[0]) >= 6) return ['ok', message];
  return ['error', message, why, 'upgrade the server'];
};

export const mode: Check = ({ mode }) => {
  if (mode === null)
    return [
      'unknown',
      'does not tell whether it is part of a cluster',
      'keys move in a cluster',
      grantInfo,
    ];
  if (mode === 'standalone') return ['ok', 'stands alone'];
  const why = 'masters must be independent: keys of a cluster move, and its failover forgets locks';
  return [
    'error',
    `runs in ${mode} mode`,
    why,
    'give the locks servers of their own, with cluster-enabled no',
  ];
};

export const role: Check = ({ role, replication, address }) => {
  if (role === 'active-replica' || replication !== null) {
    const other = 'replicates with other writable servers';
    const message = replication === null ? other : 'is an Active-Active database';
    const fix = 'list servers that are written to in one place (KeyDB: active-replica no)';
    return ['error', message, 'its vote is not its own: several may grant one lock', fix];
  }
  if (role === null)
    return [
      'unknown',
      'does not tell its role',
      'locks on a replica are lost or doubled in a failover',
      'grant ROLE',
    ];
  if (role === 'master') return ['ok', 'is a master'];
  const why = 'what a replica holds is lost or doubled in a failover, and it takes no locks';
  return [
    'error',
    role === 'slave' ? 'is a replica' : `its role is ${role}`,
    why,
    `list its master instead, or ${redisCli(address, 'REPLICAOF NO ONE')}`,
  ];
};

export const replicas: Check = ({ replicaCount, address }) => {
  if (address.sentinels)
    return [
      'warning',
      'follows a primary by its sentinels: one vote, and no independent master',
      'a failover forgets the newest locks, and cut off from the sentinels the old primary goes ' +
        'on: for a moment two may hold one lock',
      'list three independent masters where that matters; min-replicas-to-write 1 on the primary ' +
        'makes it rarer',
    ];
  if (replicaCount === null)
    return [
      'unknown',
      'does not tell its replicas',
      'a failover to a replica forgets locks',
      grantInfo,
    ];
  if (replicaCount === 0) return ['ok', 'has no replicas'];
  const why =
    'replication lags: a promoted replica lacks the newest locks, and a second holder gets them';
  const fix =
    'exclude it from failover (Sentinel: replica-priority 0 on each replica), ' +
    'or give the locks a server of their own';
  return ['warning', `has ${plural(replicaCount, 'replica')}`, why, fix];
};

export const eviction: Check = ({ maxMemory, evictionPolicy, address }) => {
  const why = 'an evicted lock is granted to the next client while its holder still works';
  if (evictionPolicy === null)
    return ['unknown', 'does not tell whether it evicts', why, grantInfo];
  if (evictionPolicy === 'noeviction') return ['ok', 'never evicts'];
  const fix = redisCli(address, 'CONFIG SET maxmemory-policy noeviction');
  if (maxMemory === 0)
    return [
      'warning',
      `maxmemory-policy is ${evictionPolicy}, without a maxmemory so far`,
      why,
      fix,
    ];
  return ['error', `maxmemory-policy is ${evictionPolicy}`, why, fix];
};

export const memory: Check = ({ maxMemory, usedMemory, address }) => {
  if (maxMemory === null || usedMemory === null) {
    return ['unknown', 'does not tell how full it is', 'a full master grants no locks', grantInfo];
  }
  if (maxMemory === 0) return ['ok', 'has no memory limit'];
  const percent = Math.round((100 * usedMemory) / maxMemory);
  const message = `${percent}% of maxmemory is used`;
  if (percent < 90) return ['ok', message];
  const enoughMiB = Math.ceil((2 * Math.max(maxMemory, usedMemory)) / 1_048_576);
  const fix = redisCli(address, `CONFIG SET maxmemory ${enoughMiB}mb`);
  return ['warning', message, 'a full master grants no locks, and counts as failed', fix];
};

const checks = {
  latency,
  version,
  mode,
  role,
  replicas,
  restart,
  mark,
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
