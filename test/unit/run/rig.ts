// The settings of a run that ends in a moment, and a claim.

import { alone } from '../../../src/lock/types.ts';

export const settings = {
  graceMs: 100,
  marginMs: 100,
  reserveMs: 200,
  extendEveryMs: 1_000,
  masterTimeoutMs: 100,
  stopSignal: 'SIGTERM',
  holdAtLeastMs: 60_000,
  holdOn: 'always',
  maxRunMs: 60_000,
  keepsBackground: false,
  slotCount: null,
} as const;

export const claim = {
  ...alone,
  resources: ['x'],
  token: 'token',
  value: 'token {}',
  ttlMs: 3_000,
  isFenced: true,
  waiter: null,
};
