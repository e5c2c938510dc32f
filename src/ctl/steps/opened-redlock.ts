// The Redlock of a step that takes a new lock: its wait is reported, and sets of masters are
// compared.

import { waitStateOf } from '../../cli/wait-notice.ts';
import type { LockRequest } from '../../lock/acquire.ts';
import { HolderChannel, type Listen } from '../../lock/people.ts';
import type { LockEvent } from '../../lock/ports.ts';
import { Redlock } from '../../lock/redlock.ts';
import { differenceLine, MastersWatch } from '../../redis/masters-watch.ts';
import { serversAt } from '../../redis/server.ts';
import { addressesOf } from '../addresses.ts';
import type { Call } from '../call.ts';
import { noticeOf } from './acquisition.ts';

/** A Redlock with connections of its own, which `close` ends; and the wait that it is told of. */
interface OpenedRedlock extends Pick<LockRequest, 'redlock' | 'servers' | 'report'> {
  readonly listen: Listen;
  readonly close: () => Promise<void>;
  /** The wait is over. */
  readonly endNotice: () => void;
}

/** For a new lock: sets of masters are compared, and a difference is reported. */
export async function openRedlock(
  call: Pick<Call, 'args' | 'settings' | 'clock' | 'holderRecord' | 'stderr' | 'environment'>,
  tell: (text: string) => void,
): Promise<OpenedRedlock> {
  const { settings, clock, holderRecord } = call;
  const addresses = await addressesOf(settings);
  const { host } = holderRecord();
  const masters = serversAt(addresses, settings, clock, 'lock');
  const { differingMasters, hasHistory } = settings;
  const watch = new MastersWatch(masters, clock, host, differingMasters, hasHistory);
  const notice = noticeOf(call);
  const report = (event: LockEvent) => {
    if (event.kind === 'masters-differ') {
      notice.interrupt();
      return tell(`warning: ${differenceLine(event)}`);
    }
    const isWait = event.kind === 'waiting' || event.kind === 'no-quorum';
    if (isWait && settings.waitMs !== 0) notice.update(waitStateOf(event, null), event.waitedMs);
    if (event.kind === 'acquired') notice.end();
    watch.see(event, report);
  };
  return {
    redlock: new Redlock(masters, clock, settings, () => {}),
    servers: watch.servers,
    report,
    listen: (...asked) => new HolderChannel(masters, ...asked),
    close: async () => {
      await Promise.all(masters.map((master) => master.close()));
    },
    endNotice: () => notice.end(),
  };
}
