// A process as execa starts it for us: on the caller's own streams, ended by nobody but us, with exactly the environment that it
// is given. It knows neither commands nor locks. The surprise: execa's own type depends on each option, and nothing here asks
// for what it tells beyond Node's.

import type { ChildProcess } from 'node:child_process';
import type { execa, Options } from 'execa';

/** execa's own function, passed in so that loading it can overlap with waiting for the masters. */
export type Start = typeof execa;

/** How it ended, or why it could not be started. */
export interface Result {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly code?: string | undefined;
  readonly shortMessage?: string | undefined;
}

export type Subprocess = ChildProcess & PromiseLike<Result>;

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SubprocessPlan {
  readonly environment: Environment;
  /** Of a session of its own. */
  readonly isLeader: boolean;
  /** Descriptor 3 is a pipe to us. */
  readonly hasPipe: boolean;
  /** What goes in and out, instead of the caller's own. */
  readonly streams?: readonly ['ignore', 'pipe', 'pipe'];
}

export function startSubprocess(start: Start, words: readonly string[], plan: SubprocessPlan): Subprocess {
  const { environment, isLeader, hasPipe, streams = ['inherit', 'inherit', 'inherit'] } = plan;
  const [file = '', ...rest] = words;
  const options = {
    stdio: [...streams, ...(hasPipe ? (['pipe'] as const) : [])],
    buffer: false,
    reject: false,
    cleanup: false,
    detached: isLeader,
    env: environment,
    extendEnv: false,
  } satisfies Options;
  return start(file, rest, options) as unknown as Subprocess;
}
