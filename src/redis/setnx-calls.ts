// The calls of script-calls.ts in the older protocol: one lock of one name, held alone, on one master. It knows no connection. The surprise:
// there is nothing to heal, since the one master is the quorum, and what it has lost is lost.

import type { Claim } from '../lock/ports.ts';
import { historyKeyOf, keysOf, noteKeyOf } from './keys.ts';
import type { Calls, ScriptCall, Undoing } from './script-calls.ts';
import {
  setnxAcquireScript,
  setnxExtendScript,
  setnxLookScript,
  setnxReleaseScript,
  setnxReplaceScript,
} from './setnx-scripts.ts';

/** `unitMs`: what the time in the key counts, 1,000 for seconds, as the old page says, or 1. */
export function setnxCalls(unitMs: number): Calls {
  const keysFor = (resource: string, prefix: string) => [
    keysOf(prefix, resource)[0] as string,
    noteKeyOf(prefix, resource),
  ];
  const call = (script: string, { resources }: Claim, prefix: string, ...words: ScriptCall['words']): ScriptCall => ({
    script,
    keys: keysFor(resources[0] as string, prefix),
    words,
  });
  return {
    toAcquire: (claim, prefix) => call(setnxAcquireScript, claim, prefix, claim.value, claim.ttlMs, unitMs),
    toExtend: (claim, _, prefix) => call(setnxExtendScript, claim, prefix, claim.value, claim.ttlMs, unitMs),
    toHeal: (claim, _, prefix) => call(setnxExtendScript, claim, prefix, claim.value, claim.ttlMs, unitMs),
    toRelease: ({ claim, keepMs, record }: Undoing, prefix) => {
      const stream = historyKeyOf(prefix, claim.resources[0] as string);
      return call(setnxReleaseScript, claim, prefix, claim.value, keepMs, unitMs, record ?? '', stream);
    },
    toLook: (resources, prefix) => ({
      script: setnxLookScript,
      keys: resources.flatMap((resource) => keysFor(resource, prefix)),
      words: [],
    }),
    toReplace: (resource, value, by, prefix) => ({
      script: setnxReplaceScript,
      keys: keysFor(resource, prefix),
      words: [value, 0, unitMs, by],
    }),
  };
}
