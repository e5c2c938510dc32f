// The decisions of one run, as a pure function: (state, event) -> (state, actions). It does nothing
// itself (run.ts acts). Events may come in any order, even late ones from a phase that is over.
// *Invariant:* the first cause of the end wins, with one exception: a lost lock overrides every
// other cause, even when it is noticed later. While the command is still being stopped, only a lock
// that was taken, that expired or that the command outlived is lost; after it, any loss but that of
// a guard counts, since what the command left behind was alive then. At the release, a run that was
// replaced or stopped on request stays so.

import type { Unkillable } from '../lock/history.ts';
import type { Person } from '../lock/people.ts';
import type { LossReason } from '../lock/types.ts';
import type { NotAcquired } from '../lock/wait.ts';
import type { HoldOn } from './ports.ts';
import {
  type Cause,
  type ChildExit,
  type Ending,
  hasRun,
  type LossEvent,
  type Lost,
  type Signal,
} from './record.ts';
import { meaningOf } from './signals.ts';

/**
 * stopping: the child was sent the stop signal. sweeping: it has ended, and its leftover processes
 * are being ended.
 */
export type Phase = 'acquiring' | 'holding' | 'stopping' | 'sweeping' | 'releasing' | 'done';

export interface State extends Omit<Ending, 'cause'> {
  readonly phase: Phase;
  readonly cause: Cause | null;
}

export type Event =
  | { readonly kind: 'acquired' }
  | { readonly kind: 'not-acquired'; readonly refusal: NotAcquired }
  | { readonly kind: 'child-exited'; readonly exit: ChildExit }
  /** `isFromTerminal`: the child has received it too; `isRepeated`: it also came a moment ago. */
  | {
      readonly kind: 'signal';
      readonly signal: Signal;
      readonly isFromTerminal: boolean;
      readonly isRepeated: boolean;
    }
  | Lost
  | { readonly kind: 'stop-asked'; readonly by: Person }
  /** A newer run waits, and both have --replace. */
  | { readonly kind: 'replaced'; readonly by: string }
  /** The caller of this run is gone. */
  | { readonly kind: 'caller-gone' }
  /** The limit of --max-run has passed. */
  | { readonly kind: 'max-run' }
  /** The grace is over, or validity is about to end. */
  | { readonly kind: 'kill-due' }
  /** No process of the command is alive but the `unkillable` ones. */
  | { readonly kind: 'swept'; readonly unkillable: readonly Unkillable[] }
  /** At the release no quorum showed our value. */
  | { readonly kind: 'missing'; readonly reason: LossReason }
  | { readonly kind: 'released' };

export type Action =
  | { readonly kind: 'abandon-acquisition' }
  | { readonly kind: 'start-child' }
  | { readonly kind: 'relay'; readonly signal: Signal }
  /** Begin to stop: `signal` now, `kill-due` after the grace. null: the configured stop signal. */
  | { readonly kind: 'stop'; readonly signal: Signal | null }
  | { readonly kind: 'kill' }
  /** Suspend the command, then this process, as Ctrl-Z does. */
  | { readonly kind: 'suspend' }
  /** End the leftover processes, and post `swept`. */
  | { readonly kind: 'sweep' }
  /** With `unkillable` processes the lock is left to expire, and only its history is completed. */
  | { readonly kind: 'release' }
  | { readonly kind: 'report'; readonly event: LossEvent };

export const initialState: State = {
  phase: 'acquiring',
  cause: null,
  childExit: null,
  isKilled: false,
  unkillable: [],
};

type Step = readonly [State, readonly Action[]];

const steps: Readonly<Record<Phase, (state: State, event: Event) => Step>> = {
  acquiring: whileAcquiring,
  holding: whileHolding,
  stopping: whileStopping,
  sweeping: whileSweeping,
  releasing: whileReleasing,
  done: (state) => [state, []],
};

/** The next state and the actions. Events that no longer matter change nothing. */
export function transition(state: State, event: Event): Step {
  return steps[state.phase](state, event);
}

/**
 * Whether --hold-at-least applies: not to a command that never ran, or ran without its lock, nor
 * where an operator wants the lock free; with `success` only to one that ended by itself, with 0.
 */
export function isKept(state: State, holdOn: HoldOn): boolean {
  const { cause, childExit } = state;
  if (cause?.kind === 'lost' || cause?.kind === 'stopped') return false;
  if (holdOn === 'always') return hasRun(childExit);
  return cause?.kind === 'child' && childExit?.kind === 'exited' && childExit.code === 0;
}

export function endingOf({ cause, childExit, isKilled, unkillable }: State): Ending {
  if (cause === null) throw new Error('a run that has not ended has no ending');
  return { cause, childExit, isKilled, unkillable };
}

function whileAcquiring(state: State, event: Event): Step {
  switch (event.kind) {
    case 'acquired':
      if (state.cause) return release(state);
      return [{ ...state, phase: 'holding' }, [{ kind: 'start-child' }]];
    case 'not-acquired':
      return [{ ...state, phase: 'done', cause: state.cause ?? event.refusal }, []];
    case 'signal':
      if (!meaningOf(event.signal).endsWait) return [state, []];
      return abandon(state, { kind: 'signal', signal: event.signal });
    case 'caller-gone':
      return abandon(state, event);
    default:
      return [state, []];
  }
}

function abandon(state: State, cause: Cause): Step {
  return state.cause ? [state, []] : [{ ...state, cause }, [{ kind: 'abandon-acquisition' }]];
}

function whileHolding(state: State, event: Event): Step {
  switch (event.kind) {
    case 'child-exited':
      if (event.exit.kind === 'never-started') return neverStarted(state, event.exit);
      if (event.exit.kind === 'unknown-start') return unknownStart(state, event.exit);
      if (event.exit.kind === 'caller-gone')
        return release({ ...state, cause: event.exit, childExit: event.exit });
      return [
        { ...state, phase: 'sweeping', cause: { kind: 'child' }, childExit: event.exit },
        [sweep],
      ];
    case 'lost':
    case 'max-run':
    case 'replaced':
      return stop(state, event, null);
    case 'stop-asked':
      return stop(state, { kind: 'stopped', by: event.by }, null);
    case 'signal':
      return whileHoldingSignal(state, event);
    default:
      return [state, []];
  }
}

function stop(state: State, cause: Cause, signal: Signal | null): Step {
  return [{ ...state, phase: 'stopping', cause }, [{ kind: 'stop', signal }]];
}

function whileHoldingSignal(
  state: State,
  { signal, isFromTerminal, isRepeated }: SignalEvent,
): Step {
  const cause = { kind: 'signal', signal } as const;
  switch (meaningOf(signal).running) {
    case 'stop':
      // Ctrl-C is left to the child: a pager goes on. Twice in a moment it stops the run.
      return isFromTerminal && !isRepeated ? [state, []] : stop(state, cause, signal);
    case 'stop-signal':
      return stop(state, cause, null);
    case 'relay':
      return relayed(state, signal, isFromTerminal);
    case 'suspend':
      return [state, [{ kind: 'suspend' }]];
    default:
      return [state, []];
  }
}

/** The signal is passed on, unless the command has received it itself. */
function relayed(state: State, signal: Signal, isFromTerminal: boolean): Step {
  return [state, isFromTerminal ? [] : [{ kind: 'relay', signal }]];
}

function whileStopping(state: State, event: Event): Step {
  switch (event.kind) {
    case 'child-exited':
      if (event.exit.kind === 'never-started') return neverStarted(state, event.exit);
      return [afterStop(state, event.exit), [sweep]];
    case 'lost':
      // Only a loss that masters confirm, or that the command outlived, counts here; for all others
      // the command is being ended already, in time.
      if (!event.isOutlived && event.reason !== 'taken' && event.reason !== 'expired')
        return [state, []];
      if (state.cause?.kind === 'lost') return [{ ...state, cause: event }, []];
      // The guard stops a tree once and sends nothing again. This ends the extensions and reports
      // the loss.
      return [{ ...state, cause: event }, [{ kind: 'stop', signal: null }]];
    case 'signal':
      if (isOrderToStop(event.signal)) return kill(state);
      if (meaningOf(event.signal).running !== 'relay') return [state, []];
      return relayed(state, event.signal, event.isFromTerminal);
    case 'kill-due':
      return kill(state);
    default:
      return [state, []];
  }
}

function whileSweeping(state: State, event: Event): Step {
  switch (event.kind) {
    case 'swept':
      return release({ ...state, unkillable: event.unkillable });
    case 'lost':
      // The guard that is left ends them.
      if (event.reason === 'guard-lost') return [state, []];
      // The lock is lost while leftover processes may be alive.
      if (state.cause?.kind === 'lost') return kill(state);
      return [
        { ...state, cause: event, isKilled: true },
        [{ kind: 'stop', signal: null }, { kind: 'kill' }],
      ];
    case 'kill-due':
      return kill(state);
    case 'signal':
      return isOrderToStop(event.signal) ? kill(state) : [state, []];
    default:
      return [state, []];
  }
}

function whileReleasing(state: State, event: Event): Step {
  if (event.kind === 'released') return [{ ...state, phase: 'done' }, []];
  const isNews = hasRun(state.childExit) && state.cause?.kind !== 'lost';
  if (event.kind !== 'missing' || !isNews) return [state, []];
  // Only missing: no other holder is known to have had it beside the command, whose exit code
  // stands.
  const isByRequest = state.cause?.kind === 'replaced' || state.cause?.kind === 'stopped';
  const isLoss = event.reason === 'taken' && !isByRequest;
  const cause: Cause | null = isLoss
    ? { kind: 'lost', reason: event.reason, isAtRelease: true }
    : state.cause;
  return [
    { ...state, cause },
    [report({ kind: isLoss ? 'lost-at-release' : 'missing-at-release' })],
  ];
}

/**
 * SIGKILL may also have come from the guard itself: the grace was over, or it was the only one
 * left.
 */
function afterStop(state: State, childExit: ChildExit): State {
  const isKilled = childExit.kind === 'signaled' && childExit.signal === 'SIGKILL';
  return { ...state, phase: 'sweeping', childExit, isKilled: state.isKilled || isKilled };
}

/** Nothing is there to be stopped or killed. */
function neverStarted(state: State, childExit: NeverStarted): Step {
  const { reason } = childExit;
  if (state.cause !== null) return release({ ...state, childExit });
  const [next, actions] = release({ ...state, cause: { kind: 'lost', reason }, childExit });
  return [next, [report({ kind: 'never-started', reason }), ...actions]];
}

/** The command is never started again: the first start may have succeeded. */
function unknownStart(state: State, childExit: ChildExit & { kind: 'unknown-start' }): Step {
  const cause: Cause = { kind: 'lost', reason: 'guard-lost' };
  return [
    { ...state, phase: 'sweeping', cause, childExit },
    [report({ kind: 'unknown-start' }), sweep],
  ];
}

/** The command is being stopped already, so a second order kills it at once. */
function isOrderToStop(signal: Signal): boolean {
  return meaningOf(signal).running === 'stop';
}

function kill(state: State): Step {
  return [{ ...state, isKilled: true }, [{ kind: 'kill' }]];
}

function release(state: State): Step {
  return [{ ...state, phase: 'releasing' }, [{ kind: 'release' }]];
}

type SignalEvent = Extract<Event, { kind: 'signal' }>;
type NeverStarted = Extract<ChildExit, { kind: 'never-started' }>;

function report(event: LossEvent): Action {
  return { kind: 'report', event };
}

const sweep: Action = { kind: 'sweep' };
