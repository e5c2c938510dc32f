// `redlockctl acquire NAME`: acquires a lock for a script and prints its token. The lock outlives
// this program and is neither extended nor guarded, so the ttl has to last for the work, or until
// the next `extend`.

import { exitCode } from '../../text/errors.ts';
import type { Call } from '../call.ts';
import { acquireOnce } from './acquire-once.ts';
import { failed, handleText, nameOf, partsOf, wantedBy } from './acquisition.ts';
import { openRedlock } from './opened-redlock.ts';

export async function acquireLock(call: Call): Promise<number> {
  const { print, tell, interrupted } = call;
  const { close, endNotice, ...opened } = await openRedlock(call, tell);
  const acquisition = await acquireOnce(
    { ...opened, ...partsOf(call, 'redlockctl') },
    wantedBy(call, false),
    interrupted(),
  );
  endNotice();
  await close();
  if (acquisition.kind !== 'acquired') return failed(nameOf(call), acquisition, call);
  print(handleText(call, acquisition.lease, {}));
  return exitCode.ok;
}
