// The command of --notify, run by /bin/sh at the events that people are told of. Nothing waits for
// it. redlock-run may end before it, so a shell of its own ends it after ten seconds, with all that
// it has started in its process group. What it prints goes to stderr or nowhere, because only the
// command may write to stdout.

import type { HolderRecord } from '../lock/value.ts';
import { oneLine } from '../text/foreign-text.ts';
import { encodedList } from '../text/held-locks.ts';
import { holderText } from '../text/lines.ts';
import { folder } from './on-lost.ts';
import { type Finished, type RunEvent, reasonOfLoss } from './ports.ts';
import { startOwn } from './processes/own-children.ts';

export type Notice = 'waiting' | 'acquired' | 'busy' | 'lost' | 'released';

/** As the leader of a process group. Its own number is that of the group. */
const bounded = `(sleep 10; kill -KILL -$$) </dev/null >/dev/null 2>&1 &
/bin/sh -c "$1"
kill -KILL -$$`;

export interface NotifierSettings {
  readonly script: string;
  readonly names: readonly string[];
  /** Whether stderr shows what the script prints; otherwise nothing does. */
  readonly isShown: boolean;
}

export class Notifier {
  readonly #settings: NotifierSettings;
  readonly #self: string;
  #holder = '';
  readonly #told = new Set<Notice>();

  /** `self`: this run, as holder. */
  constructor(settings: NotifierSettings, self: Omit<HolderRecord, 'since'>) {
    this.#settings = settings;
    this.#self = `${self.user}@${self.host}, pid ${self.pid}, ${self.label}`;
  }

  see(event: RunEvent): void {
    if (event.kind === 'waiting') {
      this.#holder = event.holder;
      this.#tell('waiting', this.#blocker());
    } else if (event.kind === 'acquired') this.#tell('acquired', this.#self);
    else if (event.kind === 'released' || event.kind === 'release-unconfirmed')
      this.#tell('released', this.#self);
    else if (reasonOfLoss(event) !== null) this.#tell('lost', this.#self);
  }

  /** Tells of a run that was refused. */
  finished({ result: { cause } }: Finished): void {
    if (cause.kind !== 'not-acquired') return;
    const { acquisition } = cause;
    if (acquisition.kind === 'busy') this.#holder = acquisition.holder;
    const isRefused = ['busy', 'superseded', 'nested'].includes(acquisition.kind);
    if (isRefused) this.#tell('busy', this.#blocker());
  }

  /** Empty where other waiters come first. */
  #blocker(): string {
    return this.#holder === '' ? '' : holderText(this.#holder);
  }

  /** Starts the script, once for each notice, and forgets it. */
  #tell(notice: Notice, holder: string): void {
    if (this.#told.has(notice)) return;
    this.#told.add(notice);
    const { script, names, isShown } = this.#settings;
    const output = isShown ? 2 : 'ignore';
    try {
      const hook = startOwn('/bin/sh', ['-c', bounded, 'sh', script], {
        stdio: ['ignore', output, output],
        cwd: folder(),
        detached: true,
        env: {
          ...process.env,
          REDLOCK_EVENT: notice,
          REDLOCK_NAME: names[0],
          REDLOCK_NAMES: encodedList(names).join(','),
          REDLOCK_HOLDER: oneLine(holder),
        },
      });
      hook.on('error', () => {});
      hook.unref();
    } catch {
      // An environment that is too large, or no more processes: the run goes on.
    }
  }
}
