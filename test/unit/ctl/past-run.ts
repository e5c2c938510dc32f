// A run that has ended well, a holder, and what a run was refused for, as the history and the state
// of a lock show them. A test changes what it is about.

import type { PastHolder, PastRun } from '../../../src/ctl/history/run-history.ts';
import type { Holder } from '../../../src/ctl/lock-state.ts';
import { noFacts } from '../../../src/lock/history.ts';

const self = { token: 't', host: 'web1', pid: 4711, user: 'ops' };

export const run: PastRun = {
  ...noFacts,
  ...self,
  name: 'nightly-backup',
  label: 'backup.sh',
  beganAt: '2026-11-21T01:00:00.000Z',
  acquiredAt: '2026-11-21T01:00:00.000Z',
  endedAt: '2026-11-21T02:00:00.000Z',
  waitMs: 0,
  heldMs: 3_600_000,
  outcome: 'ran',
  exitCode: 0,
  status: 0,
  count: 1,
  firstAt: null,
  masters: 3,
};

export const blocker: PastHolder = {
  ...self,
  kind: 'redlock-run',
  host: 'web2',
  label: 'restore.sh',
  since: '2026-11-21T01:00:00.000Z',
  note: null,
  url: null,
};

export const holder: Holder = {
  ...blocker,
  host: 'web1',
  label: 'job',
  forPid: null,
  slot: null,
  votes: 3,
  endedAt: null,
};
