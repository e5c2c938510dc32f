// The name by which a server knows a script that it has run before. The surprise: Node's crypto, which makes it, is loaded for the
// first one only, because that takes as long as asking three masters for a lock; a run that is short sends no script twice.

import { createRequire } from 'node:module';

const digests = new Map<string, string>();

/** As EVALSHA wants it. */
export function digestOf(script: string): string {
  let digest = digests.get(script);
  if (digest === undefined) {
    const { createHash } = createRequire(import.meta.url)('node:crypto') as typeof import('node:crypto');
    digest = createHash('sha1').update(script).digest('hex');
    digests.set(script, digest);
  }
  return digest;
}
