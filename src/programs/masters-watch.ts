// The masters of a job, and what is found out about them beside their votes: those that do not say
// what they are, and lists of other hosts that could grant the lock beside ours.

import type { Settings } from '../config/settings.ts';
import type { IdentifiedServer } from '../lock/acquire.ts';
import type { Clock } from '../lock/ports.ts';
import type { MasterAddress } from '../redis/address.ts';
import { isFailed } from '../redis/errors.ts';
import { isUnidentified, type ServerRegistry } from '../redis/identity.ts';
import { differenceFailure, OwnList } from '../redis/master-lists.ts';
import { RedisMaster } from '../redis/redis-master.ts';
import type { ReportRun, RunEvent } from '../run/ports.ts';
import { holderRecordOf } from './job-parts.ts';

export class MastersWatch {
  readonly masters: readonly RedisMaster[];
  readonly #settings: Settings;
  readonly #clock: Clock;
  readonly #tell: ReportRun;
  readonly #list: OwnList;
  #hasWarned = false;

  constructor(
    settings: Settings,
    addresses: readonly MasterAddress[],
    registry: ServerRegistry,
    clock: Clock,
    tell: ReportRun,
  ) {
    const { prefix, differingMasters } = settings;
    const names = addresses.map(({ name }) => name);
    this.#settings = settings;
    this.#clock = clock;
    this.#tell = tell;
    this.#list = new OwnList(holderRecordOf(settings).host, names, prefix);
    const ownList = differingMasters === 'ignore' ? null : this.#list;
    this.masters = addresses.map(
      (address) => new RedisMaster(address, { ...settings, ownList }, registry, clock),
    );
  }

  /** The masters; rejected where a list of another host differs, if that is to be an error. */
  get servers(): readonly IdentifiedServer[] {
    if (this.#settings.differingMasters !== 'error') return this.masters;
    const rejectionOf = (master: RedisMaster) => {
      const difference = this.#list.differenceAt(this.#clock.now());
      const isTold = difference !== null && difference.master === master.name;
      return master.rejection ?? (isTold ? differenceFailure(difference) : null);
    };
    return this.masters.map((master) => ({
      name: master.name,
      identify: () => master.identify(),
      get rejection() {
        return rejectionOf(master);
      },
    }));
  }

  /** What it tells decides nothing, and nothing waits for what it does. */
  see(event: RunEvent): void {
    if (event.kind === 'acquired')
      for (const { name, identity } of this.masters)
        if (identity && !isFailed(identity) && isUnidentified(identity))
          this.#tell({ kind: 'master-unidentified', master: name });
    if (event.kind !== 'acquired' && event.kind !== 'extended') return;
    const now = this.#clock.now();
    const difference = this.#hasWarned ? null : this.#list.differenceAt(now);
    if (difference !== null) {
      this.#hasWarned = true;
      const { host, added, missing } = difference;
      this.#tell({ kind: 'masters-differ', host, added, missing });
    }
    if (this.#settings.hasHistory) this.#list.write(now);
  }
}
