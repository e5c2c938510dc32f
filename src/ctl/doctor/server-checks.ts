// Checks of the server: version, mode, role, persistence, eviction, memory. Pure. Persistence and
// the restart grace are one check, because either makes up for the other.

import { roughly } from '../../text/lines.ts';
import { type Check, grantConfig, grantInfo } from './check.ts';
import { redisCli } from './finding.ts';

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

export const role: Check = ({ role, address }) => {
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
  return [
    'warning',
    `has ${replicaCount} ${replicaCount === 1 ? 'replica' : 'replicas'}`,
    why,
    fix,
  ];
};

export const restart: Check = (
  { isAppending, fsync, uptimeMs, address },
  { restartGraceMs, isLocal },
) => {
  if (isAppending && fsync === 'always') return ['ok', 'keeps every change over a restart'];
  if (restartGraceMs > 0) {
    if (uptimeMs === null) {
      const why = 'the restart grace works only where the server tells since when it runs';
      return ['unknown', 'does not tell since when it runs', why, grantInfo];
    }
    if (uptimeMs >= restartGraceMs)
      return ['ok', `does not vote for ${roughly(restartGraceMs)} after a restart`];
    const rest = roughly(restartGraceMs - uptimeMs);
    const message = `restarted ${roughly(uptimeMs)} ago: does not vote for another ${rest}`;
    return ['warning', message, 'it may have forgotten a lock that is still held', 'wait'];
  }
  const why =
    'a master that restarts empty, or without its last second, grants a lock that is still held';
  if (isLocal)
    return [
      'warning',
      'forgets all locks when it is ended',
      why,
      'use masters of your own where it matters',
    ];
  // Two pairs in one CONFIG SET need version 7.
  const durable = redisCli(address, 'CONFIG SET appendfsync always', 'CONFIG SET appendonly yes');
  const fix = `set restartGrace to the longest ttl in use, or ${durable}`;
  if (isAppending === null || (isAppending && fsync === null)) {
    return [
      'unknown',
      'does not tell whether a restart forgets locks',
      why,
      `${grantConfig}, or set restartGrace`,
    ];
  }
  return [
    'error',
    isAppending ? `appendfsync is ${fsync}` : 'keeps nothing over a restart',
    why,
    fix,
  ];
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
  const fix = redisCli(address, `CONFIG SET maxmemory ${2 * maxMemory}`);
  return ['warning', message, 'a full master grants no locks, and counts as failed', fix];
};
