// The servers by address, for the simulated ioredis. It is on the global object, because a mutant's
// copy of src/ brings its own copy of the simulated ioredis.

import type { Endpoint } from './endpoint.ts';

const name = Symbol.for('redlock-run simulated hosts');
const position = globalThis as unknown as Record<symbol, Map<string, Endpoint> | undefined>;

export function hosts(): Map<string, Endpoint> {
  position[name] ??= new Map();
  return position[name];
}
