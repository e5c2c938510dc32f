// What is to be said of one master, from what was found out about it. Pure. Each check says one of four things, and of a fact that is null it
// says that it is unknown. The surprise: persistence and the restart grace are one check, because either makes up for the other.

import { roughly } from '../../cli/lines.ts';
import { rateOf } from './clock-reading.ts';
import type { MasterFacts } from './facts.ts';
import { type Finding, type Grade, isOnThisMachine, redisCli } from './finding.ts';

export interface Circumstances {
  readonly restartGraceMs: number;
  readonly masterTimeoutMs: number;
  readonly isLocal: boolean;
}

type Verdict = readonly [grade: Grade, message: string, why?: string, fix?: string];
type Check = (facts: MasterFacts, circumstances: Circumstances) => Verdict;

const grantInfo = 'grant INFO (redlockctl acl prints the rules), or ask the provider';
const grantConfig = 'grant CONFIG GET (redlockctl acl prints the rules), or ask the provider';

const latency: Check = ({ roundTripsMs }, { masterTimeoutMs }) => {
  const median = roundTripsMs[Math.floor(roundTripsMs.length / 2)] ?? 0;
  const message = `a round trip takes ${median.toFixed(1)} ms`;
  if (median * 4 < masterTimeoutMs) return ['ok', message];
  const why = `a master that does not answer within ${masterTimeoutMs} ms counts as down`;
  return ['warning', message, why, 'raise ttl or masterTimeout, or move the master nearer'];
};

const version: Check = ({ version }) => {
  if (version === null)
    return ['unknown', 'does not tell its version', 'versions before 6 are not supported', grantInfo];
  if (Number(version.split('.')[0]) >= 6) return ['ok', `version ${version}`];
  return ['error', `version ${version}`, 'versions before 6 are not supported', 'upgrade the server'];
};

const mode: Check = ({ mode }) => {
  if (mode === null)
    return ['unknown', 'does not tell whether it is part of a cluster', 'keys move in a cluster', grantInfo];
  if (mode === 'standalone') return ['ok', 'stands alone'];
  const why = 'masters must be independent: keys of a cluster move, and its failover forgets locks';
  return ['error', `runs in ${mode} mode`, why, 'give the locks servers of their own, with cluster-enabled no'];
};

const role: Check = ({ role, address }) => {
  if (role === null)
    return ['unknown', 'does not tell its role', 'locks on a replica are lost or doubled in a failover', 'grant ROLE'];
  if (role === 'master') return ['ok', 'is a master'];
  const why = 'what a replica holds is lost or doubled in a failover, and it takes no locks';
  return [
    'error',
    `is a ${role === 'slave' ? 'replica' : role}`,
    why,
    `list its master instead, or ${redisCli(address)} REPLICAOF NO ONE`,
  ];
};

const replicas: Check = ({ replicaCount }) => {
  if (replicaCount === null)
    return ['unknown', 'does not tell its replicas', 'a failover to a replica forgets locks', grantInfo];
  if (replicaCount === 0) return ['ok', 'has no replicas'];
  const why =
    'replication lags behind: a replica that is promoted has forgotten the newest locks, and a second holder gets them';
  const fix =
    'keep failover away from it (Sentinel: replica-priority 0 on each replica), or give the locks a server of their own';
  return ['warning', `has ${replicaCount} ${replicaCount === 1 ? 'replica' : 'replicas'}`, why, fix];
};

const restart: Check = ({ isAppending, fsync, uptimeMs, address }, { restartGraceMs, isLocal }) => {
  if (isAppending && fsync === 'always') return ['ok', 'keeps every change over a restart'];
  if (restartGraceMs > 0) {
    if (uptimeMs === null) {
      const why = 'the restart grace works only where the server tells since when it runs';
      return ['unknown', 'does not tell since when it runs', why, grantInfo];
    }
    if (uptimeMs >= restartGraceMs) return ['ok', `does not vote for ${roughly(restartGraceMs)} after a restart`];
    const message = `restarted ${roughly(uptimeMs)} ago: does not vote for another ${roughly(restartGraceMs - uptimeMs)}`;
    return ['warning', message, 'it may have forgotten a lock that is still held', 'wait'];
  }
  const why = 'a master that restarts empty, or without its last second, grants a lock that somebody still holds';
  if (isLocal)
    return ['warning', 'forgets all locks when it is ended', why, 'use masters of your own where it matters'];
  const fix = `set restartGrace to the longest ttl in use, or ${redisCli(address)} CONFIG SET appendonly yes appendfsync always`;
  if (isAppending === null || (isAppending && fsync === null)) {
    return ['unknown', 'does not tell whether a restart forgets locks', why, `${grantConfig}, or set restartGrace`];
  }
  return ['error', isAppending ? `appendfsync is ${fsync}` : 'keeps nothing over a restart', why, fix];
};

const eviction: Check = ({ maxMemory, evictionPolicy, address }) => {
  const why = 'an evicted lock is free for the next who asks, while its holder still works';
  if (evictionPolicy === null) return ['unknown', 'does not tell whether it evicts', why, grantInfo];
  if (evictionPolicy === 'noeviction') return ['ok', 'never evicts'];
  const fix = `${redisCli(address)} CONFIG SET maxmemory-policy noeviction`;
  if (maxMemory === 0)
    return ['warning', `maxmemory-policy is ${evictionPolicy}, without a maxmemory so far`, why, fix];
  return ['error', `maxmemory-policy is ${evictionPolicy}`, why, fix];
};

const memory: Check = ({ maxMemory, usedMemory, address }) => {
  if (maxMemory === null || usedMemory === null) {
    return ['unknown', 'does not tell how full it is', 'a full master grants no locks', grantInfo];
  }
  if (maxMemory === 0) return ['ok', 'has no limit of memory'];
  const percent = Math.round((100 * usedMemory) / maxMemory);
  const message = `${percent}% of maxmemory are used`;
  if (percent < 90) return ['ok', message];
  const fix = `${redisCli(address)} CONFIG SET maxmemory ${2 * maxMemory}`;
  return ['warning', message, 'a full master grants no locks, and counts as failed', fix];
};

const clock: Check = ({ clockReadings }) => {
  const aheadMs = clockReadings.at(-1)?.aheadMs ?? 0;
  const uncertaintyMs = clockReadings.at(-1)?.uncertaintyMs ?? 0;
  const message = `its clock is ${roughly(Math.abs(Math.round(aheadMs)))} ${aheadMs >= 0 ? 'ahead of' : 'behind'} ours`;
  if (Math.abs(aheadMs) - uncertaintyMs < 1_000) return ['ok', message];
  const why = 'keys expire by it: when somebody sets it right in one step, locks end too early or stay too long';
  return [
    'warning',
    message,
    why,
    'run chronyd or ntpd there and here, with slewing and without makestep after the start',
  ];
};

const clockRate: Check = ({ clockReadings }) => {
  const measured = rateOf(clockReadings);
  const { rate, least } = measured ?? { rate: 0, least: 0 };
  const message = `its clock runs ${Math.abs(rate * 100).toFixed(2)}% ${rate >= 0 ? 'faster' : 'slower'} than ours`;
  if (measured === null) return ['unknown', 'its clock was set while it was watched', 'keys expire by it', 'try again'];
  if (Math.abs(least) < 0.005) return ['ok', 'its clock runs as fast as ours'];
  const why = 'the allowance for drift is one percent: beyond it a lock ends on the master before its holder stops';
  return [
    Math.abs(least) < 0.01 ? 'warning' : 'error',
    message,
    why,
    'see what its clock source is; virtual machines need a paravirtual clock',
  ];
};

const rights: Check = ({ refusal }) => {
  if (refusal === null) return ['ok', 'a lock can be acquired, waited for, extended and released'];
  const fix =
    refusal.cause === 'denied' ? 'give the user the rules that redlockctl acl prints' : 'see the message of the server';
  return ['error', `no lock can be kept: ${refusal.message}`, 'a master that refuses does not vote', fix];
};

const tls: Check = ({ address }) => {
  if (address.path !== undefined) return ['ok', 'is reached over a unix socket'];
  if (address.tls) return ['ok', 'is reached over TLS'];
  if (isOnThisMachine(address)) return ['ok', 'is reached over loopback'];
  const why = 'whoever sees the traffic learns passwords and tokens, and can end locks by them';
  return ['warning', 'is reached without TLS', why, 'let the server listen with tls-port, and write rediss://'];
};

const access: Check = ({ isOpen, isProtected, bind, address }) => {
  const why = 'whoever reaches the port can end and take locks';
  const fix = 'set requirepass or an ACL user (redlockctl acl prints the rules)';
  if (isOpen === false) return ['ok', 'asks for a password'];
  if (isOpen === null) return ['unknown', 'did not say whether it asks for a password', why, fix];
  if (!isOnThisMachine(address)) return ['error', 'answers everybody who reaches its port', why, fix];
  if (address.path !== undefined && bind === null) return ['ok', 'answers on a socket that only some may open'];
  if (bind === null) return ['unknown', 'asks for no password, and does not tell where it listens', why, grantConfig];
  const isLoopback = bind.split(' ').every((place) => /^-?(127\..*|::1)$/.test(place));
  if (isLoopback || isProtected) return ['ok', 'asks for no password, but answers this machine only'];
  return ['error', `asks for no password and listens on ${bind || 'all addresses'}`, why, fix];
};

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

/** One finding a check. */
export function masterFindings(master: string, facts: MasterFacts, circumstances: Circumstances): Finding[] {
  return Object.entries(checks).map(([check, judge]) => {
    const [grade, message, why = null, fix = null] = judge(facts, circumstances);
    return { check, grade, master, message, why, fix };
  });
}
