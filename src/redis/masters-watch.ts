// Looks for other hosts whose lists of masters could grant a lock beside that of this program
// (master-lists.ts), wherever a lock is taken: it warns once, or keeps a new lock from being held.

import type { IdentifiedServer } from '../lock/acquire.ts';
import type { Clock, Report } from '../lock/ports.ts';
import { differenceFailure, OwnList } from './master-lists.ts';

/** The values of the key differingMasters. */
export const reactions = ['warn', 'error', 'ignore'] as const;
export type Reaction = (typeof reactions)[number];

export interface WatchSettings {
  readonly prefix: string;
  readonly differingMasters: Reaction;
  /** Whether the masters are told our list, with the name of this host. */
  readonly hasHistory: boolean;
}

export class MastersWatch {
  readonly #settings: WatchSettings;
  readonly #clock: Clock;
  readonly #list: OwnList;
  #hasWarned = false;

  /** `masterCount`: of all masters that are configured. */
  constructor(settings: WatchSettings, host: string, masterCount: number, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#list = new OwnList(host, masterCount, settings.prefix);
  }

  /** What each connection to a master tells of lists; null: lists are not compared. */
  get ownList(): OwnList | null {
    return this.#settings.differingMasters === 'ignore' ? null : this.#list;
  }

  /** These masters; rejected where a list of another host differs, if that is to be an error. */
  serversOf(masters: readonly IdentifiedServer[]): readonly IdentifiedServer[] {
    if (this.#settings.differingMasters !== 'error') return masters;
    const rejectionOf = (master: IdentifiedServer) => {
      const difference = this.#list.differenceAt(this.#clock.now());
      const isTold = difference !== null && difference.master === master.name;
      return master.rejection ?? (isTold ? differenceFailure(difference) : null);
    };
    return masters.map((master) => ({
      name: master.name,
      identify: () => master.identify(),
      get rejection() {
        return rejectionOf(master);
      },
    }));
  }

  /** An event of a lock. What is told decides nothing, and nothing waits for what is done here. */
  see({ kind }: { readonly kind: string }, tell: Report): void {
    if (kind !== 'acquired' && kind !== 'extended') return;
    const now = this.#clock.now();
    const difference = this.#hasWarned ? null : this.#list.differenceAt(now);
    if (difference !== null) {
      this.#hasWarned = true;
      const { host, added, missing } = difference;
      tell({ kind: 'masters-differ', host, added, missing });
    }
    if (this.#settings.hasHistory) this.#list.write(now);
  }
}
