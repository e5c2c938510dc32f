// What is reported of a job: its events as lines and to hooks, and its end, with the summary on CI
// and the file of --report.

import type { MastersSeen } from '../cli/report.ts';
import type { Reporter } from '../cli/reporter.ts';
import { appendSummary } from '../cli/step-summary.ts';
import type { Settings } from '../config/settings.ts';
import type { MasterAddress } from '../redis/address.ts';
import type { Server } from '../redis/server.ts';
import { Hooks } from '../run/hooks.ts';
import { type ExitStatus, exitStatusOf } from '../run/outcome.ts';
import { fold, nothingSeen, type RunEvent, type RunRecord, type Seen } from '../run/record.ts';
import { holderRecordOf } from './job-lock.ts';

/** An address: it was not asked. */
type SeenServer = Server | MasterAddress;

export class JobReports {
  readonly hooks: Hooks;
  readonly #settings: Settings;
  readonly #reporter: Reporter;
  #seen = nothingSeen;
  /** Loaded at once: another release may have been installed by the end of a long job. */
  readonly #reporting: Promise<typeof import('../cli/report.ts')> | null;

  constructor(settings: Settings, reporter: Reporter) {
    this.#reporting = settings.reportFile === null ? null : import('../cli/report.ts');
    this.#reporting?.catch(() => {}); // It is reported when it is needed.
    this.#settings = settings;
    this.#reporter = reporter;
    this.hooks = new Hooks(settings, holderRecordOf(settings));
  }

  readonly event = (event: RunEvent): void => {
    this.#seen = fold(this.#seen, event);
    this.hooks.see(event);
    this.#reporter.event(event);
  };

  readonly seen = (): Seen => this.#seen;

  /** `servers`: those of the lock that counted. */
  async end(record: RunRecord, servers: readonly SeenServer[]): Promise<ExitStatus> {
    const { names, conflictExitCode } = this.#settings;
    this.#reporter.finished(record);
    this.hooks.finished(record);
    const { GITHUB_STEP_SUMMARY: file } = process.env;
    const detail = file ? appendSummary(file, names, record) : null;
    if (detail !== null) this.#reporter.detail(detail);
    const problem = await this.#writeReport(record, servers);
    if (problem !== null) this.#reporter.error(problem);
    return exitStatusOf(record, conflictExitCode);
  }

  /** Resolves with why the file of --report could not be written, or null. */
  async #writeReport(record: RunRecord, servers: readonly SeenServer[]): Promise<string | null> {
    const { reportFile, names, note, url, traceId, conflictExitCode } = this.#settings;
    if (reportFile === null || this.#reporting === null) return null;
    const { reportOf, writeReport } = await this.#reporting;
    const masters = mastersSeen(servers, this.#seen.failing);
    const surroundings = { masters, note, url, traceId };
    return writeReport(reportFile, reportOf(names, record, surroundings, conflictExitCode));
  }
}

/** How each master is shown in the report. */
function mastersSeen(servers: readonly SeenServer[], failing: readonly string[]): MastersSeen {
  const sound = servers.filter(({ name }) => !failing.includes(name));
  const namesOf = (those: typeof servers) => those.map(({ name }) => name);
  return {
    ok: namesOf(sound.filter(hasAnswered)),
    failed: namesOf(servers.filter(({ name }) => failing.includes(name))),
    silent: namesOf(sound.filter((server) => !hasAnswered(server))),
  };
}

function hasAnswered(server: SeenServer): boolean {
  return 'hasAnswered' in server && server.hasAnswered;
}
