// What is told of a job: events as lines and to those that look on, and its end, with the file of
// --report.

import { type Onlooker, onlookersOf } from '../cli/onlookers.ts';
import type { MastersSeen } from '../cli/report.ts';
import type { Reporter } from '../cli/reporter.ts';
import type { Settings } from '../config/settings.ts';
import type { MasterAddress } from '../redis/address.ts';
import { isFailed } from '../redis/errors.ts';
import type { LockObserver } from '../redis/observer.ts';
import type { RedisMaster } from '../redis/redis-master.ts';
import { Hooks } from '../run/hooks.ts';
import { type ExitStatus, exitStatusOf } from '../run/outcome.ts';
import type { Finished, RunEvent } from '../run/ports.ts';
import { holderRecordOf } from './job-parts.ts';

/** An address: it was not asked. */
type SeenServer = RedisMaster | LockObserver | MasterAddress;

/** How a job ended, its slot, and the servers of the lock that counted. */
export interface JobEnd {
  readonly finished: Finished;
  /** null: none, or the command was never started. */
  readonly slot: number | null;
  readonly servers: readonly SeenServer[];
}

export class JobTelling {
  readonly hooks: Hooks;
  readonly #settings: Settings;
  readonly #reporter: Reporter;
  readonly #onlookers: readonly Onlooker[];
  /** The names of the masters that are known to fail. */
  readonly #failing = new Set<string>();
  #position: number | null = null;
  /** Loaded at once: another release may have been installed by the end of a long job. */
  readonly #reporting: Promise<typeof import('../cli/report.ts')> | null;

  constructor(settings: Settings, reporter: Reporter) {
    const self = holderRecordOf(settings);
    this.#reporting = settings.reportFile === null ? null : import('../cli/report.ts');
    this.#reporting?.catch(() => {}); // It is told when it is needed.
    this.#settings = settings;
    this.#reporter = reporter;
    this.hooks = new Hooks(settings, self);
    this.#onlookers = [this.hooks, ...onlookersOf(settings, (line) => reporter.detail(line))];
  }

  readonly event = (event: RunEvent): void => {
    if (event.kind === 'master-failing') this.#failing.add(event.master);
    if (event.kind === 'master-recovered') this.#failing.delete(event.master);
    if (event.kind === 'waiting' && event.position !== null) this.#position ??= event.position + 1;
    for (const onlooker of this.#onlookers) onlooker.see(event);
    this.#reporter.event(event);
  };

  async end(ended: JobEnd): Promise<ExitStatus> {
    const { finished } = ended;
    this.#reporter.finished(finished);
    for (const onlooker of this.#onlookers) onlooker.finished(finished);
    const status = exitStatusOf(finished.result, this.#settings.conflictExitCode);
    const problem = await this.#writeReport(ended);
    if (problem !== null) this.#reporter.error(problem);
    return status;
  }

  /** Resolves with why the file of --report could not be written, or null. */
  async #writeReport({ finished, slot, servers }: JobEnd) {
    const { reportFile, names, note, url, traceId, conflictExitCode } = this.#settings;
    if (reportFile === null || this.#reporting === null) return null;
    const { reportOf, writeReport } = await this.#reporting;
    const masters = mastersSeen(servers, this.#failing);
    const seen = { position: this.#position, slot, masters, note, url, traceId };
    return writeReport(reportFile, reportOf(names, finished, seen, conflictExitCode));
  }
}

/** How each master is shown in the report. */
function mastersSeen(servers: readonly SeenServer[], failing: ReadonlySet<string>): MastersSeen {
  const sound = servers.filter(({ name }) => !failing.has(name));
  const namesOf = (those: typeof servers) => those.map(({ name }) => name);
  return {
    ok: namesOf(sound.filter(hasAnswered)),
    failed: namesOf(servers.filter(({ name }) => failing.has(name))),
    silent: namesOf(sound.filter((server) => !hasAnswered(server))),
  };
}

function hasAnswered(server: SeenServer): boolean {
  if ('hasAnswered' in server) return server.hasAnswered;
  return 'identity' in server && server.identity !== null && !isFailed(server.identity);
}
