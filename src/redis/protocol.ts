// What a key means to those who share it: the protocol, by name, and its calls. It sends nothing. The surprise: `redlock` with one master is
// also the protocol of everybody who does SET NX PX and compares before he deletes; only what is older than that needs another name.

import { type Calls, redlockCalls } from './script-calls.ts';
import { setnxCalls } from './setnx-calls.ts';

/** setnx: the key holds the time at which the lock ends, in seconds; setnx-ms: in milliseconds. */
export type Protocol = 'redlock' | 'setnx' | 'setnx-ms';

const calls: Readonly<Record<Protocol, Calls>> = {
  redlock: redlockCalls,
  setnx: setnxCalls(1_000),
  'setnx-ms': setnxCalls(1),
};

export function callsOf(protocol: Protocol = 'redlock'): Calls {
  return calls[protocol];
}
