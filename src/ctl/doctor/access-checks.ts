// Checks of the access to a master: latency, clock, rights, encryption, password. Pure. A clock
// that differs is only a warning, because every master counts a lease by its own clock; a clock
// that runs at another rate endangers locks.

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
  if (Math.abs(least) < 0.005) return ['ok', 'its clock runs as fast as ours'];
  const why =
    'the drift allowance is one percent: beyond it a lock may expire before its holder stops';
  return [
    Math.abs(least) < 0.01 ? 'warning' : 'error',
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
