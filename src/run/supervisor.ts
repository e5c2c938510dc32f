// The whole life and death of one run, as a pure function: (state, event) -> (state, actions). It decides and does nothing
// (run.ts acts). Events may come in any order, also late ones from a phase that is over. The surprise: the first cause of
// ending wins, with one exception: a lock that was lost while the child lived beats everything else, also when that comes out later.

import type { LossReason } from '../lock/types.ts';
import type { NotAcquired } from '../lock/wait.ts';

export type Signal = NodeJS.Signals;

export type ChildExit =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'signaled'; readonly signal: Signal }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'not-executable'; readonly message: string };

/**
 * taken, expired: what a quorum of masters said. unreachable: stopAt came and no extension had been
 * proven. stalled: it came while we were stopped, asleep or starved. unguarded: no process could
 * stop the command if we died. masters-replaced: later runs find other local masters.
 */
export type LostReason =
  | LossReason
  | 'unreachable'
  | 'suspended'
  | 'guard-lost'
  | 'masters-replaced';

/** Why the run ended. */
export type Cause =
  | { readonly kind: 'not-acquired'; readonly acquisition: NotAcquired }
  | { readonly kind: 'child' }
  | { readonly kind: 'signal'; readonly signal: Signal }
  | { readonly kind: 'max-run' }
  /** A newer run wanted the lock, and this one had said that it would give it up; `by` is the waiter's id. */
  | { readonly kind: 'replaced'; readonly by: string }
  /** `isLate`: that came out when the lock was released, and the command had ended by then. */
  | { readonly kind: 'lost'; readonly reason: LostReason; readonly isLate?: true };

export interface Ending {
  readonly cause: Cause;
  /** null: the child was never started. */
  readonly childExit: ChildExit | null;
  /** SIGKILL had to be sent. */
  readonly isKilled: boolean;
}

/** stopping: the child has been told to end. sweeping: it has ended, and what it left behind is looked for and ended. */
export type Phase = 'acquiring' | 'holding' | 'stopping' | 'sweeping' | 'releasing' | 'done';

export interface State {
  readonly phase: Phase;
  readonly cause: Cause | null;
  readonly childExit: ChildExit | null;
  readonly isKilled: boolean;
}

export type Event =
  | { readonly kind: 'acquired' }
  | { readonly kind: 'not-acquired'; readonly acquisition: NotAcquired }
  | { readonly kind: 'child-exited'; readonly exit: ChildExit }
  /** `isFromTerminal`: the child has it already; `isRepeated`: the same one came a moment ago. */
  | {
      readonly kind: 'signal';
      readonly signal: Signal;
      readonly isFromTerminal?: boolean;
      readonly isRepeated?: boolean;
    }
  | { readonly kind: 'lost'; readonly reason: LostReason }
  | { readonly kind: 'wanted'; readonly by: string }
  /** The limit of --max-run has passed. */
  | { readonly kind: 'overdue' }
  /** The stop signal has had its time, or validity is about to end. */
  | { readonly kind: 'kill-due' }
  /** Nothing of the command is alive, but for `untouchable` pids, which we may not kill. */
  | { readonly kind: 'swept'; readonly unkillable: readonly number[] }
  /** A quorum does not show the lock as ours when it is to be released, as it should. */
  | { readonly kind: 'missing'; readonly reason: LossReason }
  | { readonly kind: 'released' };

export type Action =
  | { readonly kind: 'abandon-acquisition' }
  | { readonly kind: 'start-child' }
  | { readonly kind: 'relay'; readonly signal: Signal }
  /** Begin to stop: `signal` now, `kill-due` after the grace; null: the configured stop signal. */
  | { readonly kind: 'stop'; readonly signal: Signal | null }
  | { readonly kind: 'kill' }
  /** Stop the command, then ourselves, as Ctrl-Z does. */
  | { readonly kind: 'suspend' }
  /** Find what is left of the command, end it, and report `swept`. */
  | { readonly kind: 'sweep' }
  | { readonly kind: 'release' }
  /** Tell that it was missing; `isLoss`: and that somebody else has had it. */
  | { readonly kind: 'tell-missing'; readonly isLoss: boolean }
  /** Do not release: these still run under the lock. Let it expire. */
  | { readonly kind: 'abandon'; readonly unkillable: readonly number[] };

export const initialState: State = {
  phase: 'acquiring',
  cause: null,
  childExit: null,
  isKilled: false,
};

type Step = readonly [State, readonly Action[]];

/** What follows from an event. Events that no longer matter change nothing. */
export function transition(state: State, event: Event): Step {
  switch (state.phase) {
    case 'acquiring':
      return whileAcquiring(state, event);
    case 'holding':
      return whileHolding(state, event);
    case 'stopping':
      return whileStopping(state, event);
    case 'sweeping':
      return whileSweeping(state, event);
    case 'releasing':
      return whileReleasing(state, event);
    case 'done':
      return [state, []];
  }
}

/** The command has been started and has ended. */
export function hasRun({ childExit }: State): boolean {
  return childExit?.kind === 'exited' || childExit?.kind === 'signaled';
}

export function endingOf({ cause, childExit, isKilled }: State): Ending {
  if (cause === null) throw new Error('a run that has not ended has no ending');
  return { cause, childExit, isKilled };
}

function whileAcquiring(state: State, event: Event): Step {
  switch (event.kind) {
    case 'acquired':
      return state.cause
        ? [{ ...state, phase: 'releasing' }, [release]]
        : [{ ...state, phase: 'holding' }, [start]];
    case 'not-acquired': {
      const cause = state.cause ?? { kind: 'not-acquired', acquisition: event.acquisition };
      return [{ ...state, phase: 'done', cause }, []];
    }
    case 'signal':
      if (state.cause || !endsWaiting(event.signal)) return [state, []];
      return [
        { ...state, cause: { kind: 'signal', signal: event.signal } },
        [{ kind: 'abandon-acquisition' }],
      ];
    default:
      return [state, []];
  }
}

function whileHolding(state: State, event: Event): Step {
  const stopping = (cause: Cause, signal: Signal | null): Step => [
    { ...state, phase: 'stopping', cause },
    [{ kind: 'stop', signal }],
  ];
  switch (event.kind) {
    case 'child-exited':
      return [
        { ...state, phase: 'sweeping', cause: { kind: 'child' }, childExit: event.exit },
        [sweep],
      ];
    case 'lost':
      return stopping({ kind: 'lost', reason: event.reason }, null);
    case 'overdue':
      return stopping({ kind: 'max-run' }, null);
    case 'wanted':
      return stopping({ kind: 'replaced', by: event.by }, null);
    case 'signal':
      return whileHoldingSignal(state, event);
    default:
      return [state, []];
  }
}

function whileHoldingSignal(
  state: State,
  { signal, isFromTerminal, isRepeated }: SignalEvent,
): Step {
  const stop: Step = [
    { ...state, phase: 'stopping', cause: { kind: 'signal', signal } },
    [{ kind: 'stop', signal }],
  ];
  if (signal === 'SIGTSTP') return [state, [{ kind: 'suspend' }]];
  if (signal === 'SIGTERM') return stop;
  // Ctrl-C is the child's to understand: a pager goes on. Twice in a moment is an order to us.
  if (signal === 'SIGINT') return isFromTerminal && !isRepeated ? [state, []] : stop;
  return isFromTerminal ? [state, []] : [state, [{ kind: 'relay', signal }]];
}

function whileStopping(state: State, event: Event): Step {
  switch (event.kind) {
    case 'child-exited':
      return [{ ...state, phase: 'sweeping', childExit: event.exit }, [sweep]];
    case 'swept':
      // The child itself may not be killed by us: there is nothing more that we can wait for.
      return event.unkillable.length > 0 ? abandon(state, event.unkillable) : [state, []];
    case 'lost':
      // Not proven any more is not lost yet: `kill-due` comes before validity ends.
      if (event.reason !== 'taken' && event.reason !== 'expired') return [state, []];
      if (state.cause?.kind === 'lost')
        return [{ ...state, cause: { kind: 'lost', reason: event.reason } }, []];
      // Told again: now it is urgent.
      return [
        { ...state, cause: { kind: 'lost', reason: event.reason } },
        [{ kind: 'stop', signal: null }],
      ];
    case 'signal':
      if (event.signal === 'SIGINT' || event.signal === 'SIGTERM') return kill(state);
      return event.isFromTerminal
        ? [state, []]
        : [state, [{ kind: 'relay', signal: event.signal }]];
    default:
      return event.kind === 'kill-due' ? kill(state) : [state, []];
  }
}

function whileSweeping(state: State, event: Event): Step {
  switch (event.kind) {
    case 'swept':
      if (event.unkillable.length > 0) return abandon(state, event.unkillable);
      return [{ ...state, phase: 'releasing' }, [release]];
    case 'lost':
      // What the command left behind was alive when the lock was not ours any more.
      if (event.reason === 'guard-lost' || state.cause?.kind === 'lost') return kill(state);
      return [
        { ...state, cause: { kind: 'lost', reason: event.reason }, isKilled: true },
        [{ kind: 'stop', signal: null }, { kind: 'kill' }],
      ];
    case 'kill-due':
      return kill(state);
    case 'signal':
      return event.signal === 'SIGINT' || event.signal === 'SIGTERM' ? kill(state) : [state, []];
    default:
      return [state, []];
  }
}

function whileReleasing(state: State, event: Event): Step {
  if (event.kind === 'released') return [{ ...state, phase: 'done' }, []];
  const isNews = hasRun(state) && state.cause?.kind !== 'lost';
  if (event.kind !== 'missing' || !isNews) return [state, []];
  // Only gone: nobody can be shown to have had it beside the command, whose exit code stands.
  const isLoss = event.reason === 'taken' && state.cause?.kind !== 'replaced';
  const cause: Cause | null = isLoss
    ? { kind: 'lost', reason: event.reason, isLate: true }
    : state.cause;
  return [{ ...state, cause }, [{ kind: 'tell-missing', isLoss }]];
}

function kill(state: State): Step {
  return [{ ...state, isKilled: true }, [{ kind: 'kill' }]];
}

function abandon(state: State, unkillable: readonly number[]): Step {
  return [{ ...state, phase: 'done' }, [{ kind: 'abandon', unkillable }]];
}

type SignalEvent = Extract<Event, { kind: 'signal' }>;

const sweep: Action = { kind: 'sweep' };
const start: Action = { kind: 'start-child' };
const release: Action = { kind: 'release' };

/** Nothing has been started yet, so each of these simply ends us, as it would end any program. */
function endsWaiting(signal: Signal): boolean {
  return signal === 'SIGINT' || signal === 'SIGTERM' || signal === 'SIGHUP' || signal === 'SIGQUIT';
}
