// The protocols by name: what a key means to the programs that share it. *Note:* `redlock` with one
// master is also the protocol of any program that does SET NX PX and compares before DEL. Only the
// older one needs another name.

/** setnx: the key holds the time at which the lock ends, in seconds; setnx-ms: in milliseconds. */
export const protocols = ['redlock', 'setnx', 'setnx-ms'] as const;
export type Protocol = (typeof protocols)[number];

/** The unit of the time in the key, in ms; null: it holds no time. */
export const unitMsOf: Readonly<Record<Protocol, number | null>> = {
  redlock: null,
  setnx: 1_000,
  'setnx-ms': 1,
};
