// The Redlock of a step, with connections of its own: for a new lock, whose wait is told of and
// whose lists of masters are compared, or for one that stands.

import { WaitNotice, waitStateOf } from '../../cli/wait-notice.ts';
import type { LockRequest } from '../../lock/acquire.ts';
import { HolderChannel, type Listen } from '../../lock/holder-channel.ts';
import type { Clock, LockEvent } from '../../lock/ports.ts';
import { Redlock } from '../../lock/redlock.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { ServerRegistry } from '../../redis/identity.ts';
import { differenceLine, type OwnList } from '../../redis/master-lists.ts';
import { MastersWatch } from '../../redis/masters-watch.ts';
import { Server } from '../../redis/server.ts';
import { addressesOf } from '../addresses.ts';
import type { Call } from '../call.ts';
import type { CtlSettings } from '../settings.ts';
import { nameOf } from './acquisition.ts';

/** A Redlock with connections of its own, which `close` ends; and the wait that it is told of. */
interface OpenedRedlock extends Pick<LockRequest, 'redlock' | 'servers' | 'report'> {
  readonly listen: Listen;
  readonly close: () => Promise<void>;
  /** The wait is over. */
  readonly endNotice: () => void;
}

/** For a new lock: lists of masters are compared, and a difference is told. */
export async function openRedlock(
  call: Pick<Call, 'args' | 'settings' | 'clock' | 'holderRecord' | 'stderr' | 'environment'>,
  tell: (text: string) => void,
): Promise<OpenedRedlock> {
  const { settings, clock, holderRecord } = call;
  const addresses = await addressesOf(settings);
  const { host } = holderRecord();
  const watch = new MastersWatch(settings, host, addresses.length, clock);
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
  const { masters, ...opened } = openOn(addresses, settings, clock, watch.ownList);
  return { ...opened, servers: watch.serversOf(masters), report, endNotice: () => notice.end() };
}

/** What is told of a wait, as by redlock-run. */
function noticeOf(call: Pick<Call, 'args' | 'settings' | 'stderr' | 'environment'>): WaitNotice {
  const { stderr, environment } = call;
  const names = [nameOf(call)];
  const { waitMs } = call.settings;
  // Not by `tell`, which would show a colour as text.
  const print = (line: string, paint: (line: string) => string) =>
    stderr.write(`redlockctl: ${paint(line)}\n`);
  return new WaitNotice({ names, waitMs, print, isPlain: false }, stderr, environment);
}

/** For a lock that stands: it is not taken, so no lists are compared. */
export async function openStanding(settings: CtlSettings, clock: Clock) {
  return openOn(await addressesOf(settings), settings, clock, null);
}

function openOn(
  addresses: readonly MasterAddress[],
  settings: CtlSettings,
  clock: Clock,
  ownList: OwnList | null,
) {
  const registry = new ServerRegistry();
  const masters = addresses.map(
    (address) => new Server(address, { ...settings, ownList }, registry, clock, 'lock'),
  );
  const redlock = new Redlock(masters, clock, settings, () => {});
  const close = async () => {
    await Promise.all(masters.map((master) => master.close()));
  };
  const listen: Listen = (...asked) => new HolderChannel(masters, ...asked);
  return { masters, redlock, listen, close };
}
