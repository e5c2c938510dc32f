// The server as it is reached from here: how fast, by whose clock, with which rights, by whom else. Pure. The surprise: a clock that differs is
// no danger by itself, because every master counts a lease by its own; one that runs at another rate is.

import { roughly } from '../../text/lines.ts';
import { type Check, grantConfig } from './check.ts';
import { rateOf } from './clock-reading.ts';
import { isOnThisMachine } from './finding.ts';

export const latency: Check = ({ roundTripsMs }, { masterTimeoutMs }) => {
  const median = roundTripsMs[Math.floor(roundTripsMs.length / 2)] ?? 0;
  const message = `a round trip takes ${median.toFixed(1)} ms`;
  if (median * 4 < masterTimeoutMs) return ['ok', message];
  const why = `a master that does not answer within ${masterTimeoutMs} ms counts as down`;
  return ['warning', message, why, 'raise ttl or masterTimeout, or move the master nearer'];
};

export const clock: Check = ({ clockReadings }) => {
  const aheadMs = clockReadings.at(-1)?.aheadMs ?? 0;
  const uncertaintyMs = clockReadings.at(-1)?.uncertaintyMs ?? 0;
  const message = `its clock is ${roughly(Math.abs(Math.round(aheadMs)))} ${aheadMs >= 0 ? 'ahead of' : 'behind'} ours`;
  if (Math.abs(aheadMs) - uncertaintyMs < 1_000) return ['ok', message];
  const why =
    'keys expire by it: when somebody sets it right in one step, locks end too early or stay too long';
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
  const message = `its clock runs ${Math.abs(rate * 100).toFixed(2)}% ${rate >= 0 ? 'faster' : 'slower'} than ours`;
  if (measured === null)
    return ['unknown', 'its clock was set while it was watched', 'keys expire by it', 'try again'];
  if (Math.abs(least) < 0.005) return ['ok', 'its clock runs as fast as ours'];
  const why =
    'the allowance for drift is one percent: beyond it a lock ends on the master before its holder stops';
  return [
    Math.abs(least) < 0.01 ? 'warning' : 'error',
    message,
    why,
    'see what its clock source is; virtual machines need a paravirtual clock',
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
  const why = 'whoever sees the traffic learns passwords and tokens, and can end locks by them';
  return [
    'warning',
    'is reached without TLS',
    why,
    'let the server listen with tls-port, and write rediss://',
  ];
};

export const access: Check = ({ isOpen, isProtected, bind, address }) => {
  const why = 'whoever reaches the port can end and take locks';
  const fix = 'set requirepass or an ACL user (redlockctl acl prints the rules)';
  if (isOpen === false) return ['ok', 'asks for a password'];
  if (isOpen === null) return ['unknown', 'did not say whether it asks for a password', why, fix];
  if (!isOnThisMachine(address))
    return ['error', 'answers everybody who reaches its port', why, fix];
  if (address.path !== undefined && bind === null)
    return ['ok', 'answers on a socket that only some may open'];
  if (bind === null)
    return [
      'unknown',
      'asks for no password, and does not tell where it listens',
      why,
      grantConfig,
    ];
  const isLoopback = bind.split(' ').every((place) => /^-?(127\..*|::1)$/.test(place));
  if (isLoopback || isProtected)
    return ['ok', 'asks for no password, but answers this machine only'];
  return ['error', `asks for no password and listens on ${bind || 'all addresses'}`, why, fix];
};
