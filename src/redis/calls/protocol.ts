// The protocols by name, each with its calls: what a key means to the programs that share it. The
// calls of `redlock` are in script-calls.ts; here are those of the older protocol: one exclusive
// lock of one name on one master. It has nothing to repair: the one master is the quorum, and a
// lock that it has lost is lost. Nothing is sent here. *Note:* `redlock` with one master is also
// the protocol of any program that does SET NX PX and compares before DEL. Only the older one needs
// another name.

import type { Claim } from '../../lock/types.ts';
import { ownerKeyOf } from '../keys.ts';
import {
  type Calls,
  lineArgs,
  lineKeys,
  type Removal,
  redlockCalls,
  runsKeys,
  type ScriptCall,
  skipArgs,
} from './script-calls.ts';
import { scripts, scriptsFor } from './scripts.ts';

/** `unitMs`: the unit of the time in the key: 1,000 for seconds, as in the old page, or 1. */
function setnxCalls(unitMs: number): Calls {
  const keysFor = (resource: string, prefix: string) => [
    prefix + resource,
    ownerKeyOf(prefix, resource),
  ];
  const call = (
    script: string,
    { resources }: Claim,
    prefix: string,
    ...args: ScriptCall['args']
  ): ScriptCall => ({
    script,
    keys: keysFor(resources[0] as string, prefix),
    args,
  });
  const toExtend = (claim: Claim, _: number | null, prefix: string) =>
    call(scripts['extend.setnx'], claim, prefix, claim.value, claim.ttlMs, unitMs);
  return {
    toAcquire: (claim, prefix, historyBytes) => {
      const script = scriptsFor(true, claim.skip !== undefined)['acquire.setnx'];
      const args = [claim.value, claim.ttlMs, unitMs, ...skipArgs(claim, prefix, historyBytes)];
      return call(script, claim, prefix, ...args);
    },
    toExtend,
    toRepair: toExtend,
    toRelease: ({ claim, keepMs, line }: Removal, prefix, historyBytes) => {
      const script = scriptsFor(true, line !== null)['release.setnx'];
      const told = [line ?? '', ...lineArgs(line, prefix, historyBytes)];
      const release = call(script, claim, prefix, claim.value, keepMs, unitMs, ...told);
      return { ...release, keys: [...release.keys, ...lineKeys(line, claim, prefix)] };
    },
    toLook: (resources, prefix) => ({
      script: scripts['look.setnx'],
      keys: [
        ...resources.flatMap((resource) => keysFor(resource, prefix)),
        ...runsKeys(resources, prefix),
      ],
      args: [],
    }),
    toExchange: (resource, value, by, prefix) => ({
      script: scripts['exchange.setnx'],
      keys: keysFor(resource, prefix),
      args: [value, by],
    }),
  };
}

/** setnx: the key holds the time at which the lock ends, in seconds; setnx-ms: in milliseconds. */
export const protocols = ['redlock', 'setnx', 'setnx-ms'] as const;
export type Protocol = (typeof protocols)[number];

const calls: Readonly<Record<Protocol, Calls>> = {
  redlock: redlockCalls,
  setnx: setnxCalls(1_000),
  'setnx-ms': setnxCalls(1),
};

export function callsOf(protocol: Protocol): Calls {
  return calls[protocol];
}
