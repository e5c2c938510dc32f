// The protocols by name, each with its calls: what a key means to the programs that share it. It
// sends nothing. *Note:* `redlock` with one master is also the protocol of any program that does
// SET NX PX and compares before DEL. Only the older one needs another name.

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
