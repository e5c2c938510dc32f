// `redlockctl acquire NAME`: acquires a lock for a script and prints its token. The lock outlives
// this program and is neither extended nor guarded, so the ttl has to last for the work, or until
// the next `extend`.

import { acquireLock } from '../../lock/acquire.ts';
import { exitCode } from '../../text/errors.ts';
import type { Call } from '../call.ts';
import { checkTimings, failed, handleText, nameOf, requestOf } from './acquisition.ts';
import { openRedlock } from './opened-redlock.ts';

export async function acquireForScript(call: Call): Promise<number> {
  const { print, tell, interrupted } = call;
  checkTimings(call, false);
  const { close, endNotice, ...opened } = await openRedlock(call, tell);
  const acquisition = await acquireLock(requestOf(call, opened, 'redlockctl', interrupted()));
  endNotice();
  await close();
  if (acquisition.kind !== 'acquired') return failed(nameOf(call), acquisition, call);
  print(handleText(call, acquisition.lease, {}));
  return exitCode.ok;
}
