// The hooks of a run: --notify runs at its moments, and --on-lost once, when its lock is lost,
// after the stop signal was sent. Each is a shell command that has ten seconds, is not ended with
// the command, and changes no exit status. What it prints goes to stderr or nowhere, because only
// the command may write to stdout.

import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import type { HolderRecord } from '../lock/value.ts';
import { isRefused } from '../text/ends.ts';
import { oneLine } from '../text/foreign-text.ts';
import { holderText, personLine } from '../text/lines.ts';
import { waitingEnvironment } from './environment.ts';
import { factsOf } from './outcome.ts';
import { blockerIn, type RunEvent, type RunRecord } from './record.ts';

export type Moment = 'waiting' | 'acquired' | 'busy' | 'lost' | 'released';

const maxMs = 10_000;

/**
 * Nothing waits for --notify: redlock-run may end before it. So this shell, which leads its process
 * group, ends it with all that it has started.
 */
const bounded = `(sleep ${maxMs / 1_000}; kill -KILL -$$) </dev/null >/dev/null 2>&1 &
/bin/sh -c "$1"
kill -KILL -$$`;

export interface HookSettings {
  /** The commands; null: none. */
  readonly notify: string | null;
  readonly onLost: string | null;
  readonly names: readonly string[];
  readonly ttlMs: number;
  readonly conflictExitCode: number;
  /** --notify: with `verbose`, stderr shows what it prints; otherwise nothing does. */
  readonly verbosity: string;
}

export class Hooks {
  readonly #settings: HookSettings;
  readonly #self: string;
  #waitMs = 0;
  /** That of the command, once the lock is acquired; null: it is not. */
  #held: NodeJS.ProcessEnv | null = null;
  #onLost: Promise<void> = Promise.resolve();
  readonly #notified = new Set<Moment>();

  /** `self`: this run, as a holder. */
  constructor(settings: HookSettings, self: Omit<HolderRecord, 'since'>) {
    this.#settings = settings;
    this.#self = `${self.user}@${self.host}, pid ${self.pid}, ${self.label}`;
  }

  see(event: RunEvent): void {
    if (event.kind === 'acquired') this.#waitMs = event.waitMs;
    if (event.kind !== 'waiting') return;
    this.#notify('waiting', blockerText(event.holder), this.#waiting(), {
      waitMs: event.waitedMs,
    });
  }

  /** `environment`: that of the command. */
  acquired(environment: NodeJS.ProcessEnv): void {
    this.#held = environment;
    this.#notify('acquired', this.#self, environment, { waitMs: this.#waitMs });
  }

  lost(environment: NodeJS.ProcessEnv, record: RunRecord): void {
    const { onLost, conflictExitCode } = this.#settings;
    const facts = factsOf(record, conflictExitCode);
    this.#notify('lost', this.#self, environment, facts);
    if (onLost === null) return;
    const variables = hookVariables('lost', this.#self, facts);
    this.#onLost = endOf(startShell([onLost], 2, { ...environment, ...variables }));
  }

  /** The run is over: it was refused, or the lock is released or left to expire. */
  finished(record: RunRecord): void {
    const facts = factsOf(record, this.#settings.conflictExitCode);
    if (this.#held !== null) {
      // The lock is free: a hook may start a run of the same name, and is not nested in this one.
      const { REDLOCK_HELD, REDLOCK_HELD_LEASES } = process.env;
      const environment = { ...this.#held, REDLOCK_HELD, REDLOCK_HELD_LEASES };
      return this.#notify('released', this.#self, environment, facts);
    }
    if (isRefused(record.cause))
      this.#notify('busy', blockerText(blockerIn(record)), this.#waiting(), facts);
  }

  /** Resolves when --on-lost has ended. Never rejects. */
  ended(): Promise<void> {
    return this.#onLost;
  }

  #waiting(): NodeJS.ProcessEnv {
    return waitingEnvironment(process.env, this.#settings.names, this.#settings.ttlMs);
  }

  /** Starts the command of --notify, once for each moment, and forgets it. */
  #notify(
    moment: Moment,
    holder: string,
    environment: NodeJS.ProcessEnv,
    facts: Partial<ReturnType<typeof factsOf>>,
  ): void {
    const { notify, verbosity } = this.#settings;
    if (notify === null || this.#notified.has(moment)) return;
    this.#notified.add(moment);
    const output = verbosity === 'verbose' ? 2 : 'ignore';
    const variables = hookVariables(moment, holder, facts);
    startShell([bounded, 'sh', notify], output, { ...environment, ...variables })?.unref();
  }
}

/** `script`: with its arguments. null: it cannot be started, and the run goes on without it. */
function startShell(
  script: readonly string[],
  output: 2 | 'ignore',
  env: NodeJS.ProcessEnv,
): ChildProcess | null {
  try {
    return spawn('/bin/sh', ['-c', ...script], {
      stdio: ['ignore', output, output],
      cwd: folder(),
      detached: true,
      env,
    }).on('error', () => {});
  } catch {
    return null; // An environment that is too large, or no more processes.
  }
}

/** Resolves when the hook has ended, or was killed after ten seconds with its process group. */
async function endOf(hook: ChildProcess | null): Promise<void> {
  if (hook?.pid === undefined) return;
  const group = -hook.pid;
  const timer = setTimeout(() => {
    try {
      process.kill(group, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }, maxMs);
  await new Promise((resolve) => hook.once('exit', resolve));
  clearTimeout(timer);
}

/** The working folder, or / where it is removed or not accessible: spawn always changes to one. */
function folder(): string {
  try {
    const own = process.cwd();
    accessSync(own, constants.X_OK);
    return own;
  } catch {
    return '/';
  }
}

/** Empty where other waiters come first. */
function blockerText(value: string | null): string {
  return value ? holderText(value) : '';
}

/**
 * The facts of a run as variables. Empty, and not left out, where a fact is not known yet: those of
 * an enclosing run would pass for it.
 */
export function hookVariables(
  moment: Moment,
  holder: string,
  facts: Partial<ReturnType<typeof factsOf>>,
): NodeJS.ProcessEnv {
  const { outcome, status, signal, waitMs, runMs, lossReason, stoppedBy } = facts;
  const text = (fact: string | number | null | undefined) => String(fact ?? '');
  return {
    REDLOCK_EVENT: moment,
    REDLOCK_HOLDER: oneLine(holder),
    REDLOCK_OUTCOME: text(outcome),
    REDLOCK_STATUS: text(status),
    REDLOCK_SIGNAL: text(signal),
    REDLOCK_WAIT_MS: text(waitMs && Math.round(waitMs)),
    REDLOCK_RUN_MS: text(runMs),
    REDLOCK_LOST: text(lossReason),
    REDLOCK_BY: stoppedBy ? oneLine(personLine(stoppedBy)) : '',
  };
}
