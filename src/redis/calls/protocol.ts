// The protocols by name: what a key means to the programs that share it. *Note:* `redlock` with one
// master is also the protocol of any program that does SET NX PX and compares before DEL. Only the
// older one needs another name.

import { Calls } from './script-calls.ts';

/** setnx: the key holds the time at which the lock ends, in seconds; setnx-ms: in milliseconds. */
export const protocols = ['redlock', 'setnx', 'setnx-ms'] as const;
export type Protocol = (typeof protocols)[number];

const calls: Readonly<Record<Protocol, Calls>> = {
  redlock: new Calls(null),
  setnx: new Calls(1_000),
  'setnx-ms': new Calls(1),
};

export function callsOf(protocol: Protocol): Calls {
  return calls[protocol];
}
