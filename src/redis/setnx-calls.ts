// The calls of script-calls.ts in the older protocol: one exclusive lock of one name on one master.
// It sends nothing. There is nothing to repair: the one master is the quorum, and a lock that it
// has lost is lost.

import type { Claim } from '../lock/types.ts';
import { historyKeyOf, noteKeyOf } from './keys.ts';
import type { Calls, ScriptCall, Undoing } from './script-calls.ts';
import { scripts } from './scripts.ts';

/** `unitMs`: the unit of the time in the key: 1,000 for seconds, as in the old page, or 1. */
export function setnxCalls(unitMs: number): Calls {
  const keysFor = (resource: string, prefix: string) => [
    prefix + resource,
    noteKeyOf(prefix, resource),
  ];
  const call = (
    script: string,
    { resources }: Claim,
    prefix: string,
    ...words: ScriptCall['words']
  ): ScriptCall => ({
    script,
    keys: keysFor(resources[0] as string, prefix),
    words,
  });
  const toExtend = (claim: Claim, _: number | null, prefix: string) =>
    call(scripts['extend.setnx'], claim, prefix, claim.value, claim.ttlMs, unitMs);
  return {
    toAcquire: (claim, prefix) =>
      call(scripts['acquire.setnx'], claim, prefix, claim.value, claim.ttlMs, unitMs),
    toExtend,
    toRepair: toExtend,
    toRelease: ({ claim, keepMs, record }: Undoing, prefix) => {
      const words = [claim.value, keepMs, unitMs, record ?? ''];
      const release = call(scripts['release.setnx'], claim, prefix, ...words);
      const stream = historyKeyOf(prefix, claim.resources[0] as string);
      return record === null ? release : { ...release, keys: [...release.keys, stream] };
    },
    toLook: (resources, prefix) => ({
      script: scripts['look.setnx'],
      keys: resources.flatMap((resource) => keysFor(resource, prefix)),
      words: [],
    }),
    toReplace: (resource, value, by, prefix) => ({
      script: scripts['replace.setnx'],
      keys: keysFor(resource, prefix),
      words: [value, by],
    }),
  };
}
