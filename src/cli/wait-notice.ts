// Shows that a run waits. On a terminal, while our process group is in its foreground, one line
// changes each second. Without a terminal the same line is printed when the wait begins, when the
// holder changes, and once a minute: a log that is silent for long is taken for a dead job.

import { isInBackground } from '../run/terminal.ts';
import { otherSlots } from '../text/ends.ts';
import { oneLine, quoted } from '../text/foreign-text.ts';
import { failuresLine, heldByLine, inSeconds, whichOf } from '../text/lines.ts';
import { renderDuration } from '../text/time.ts';
import type { WaitEvent } from './run-lines.ts';
import { mayColour, type Output } from './stderr.ts';
import type { TerminalLine } from './terminal-line.ts';

/** Adds colours to a text, or none. */
type Paint = (text: string) => string;

/** What holds a wait up at present. */
export interface WaitState {
  /** Changes with the holder: then the line is printed again. '': it is between two holders. */
  readonly key: string;
  /** How many waiters are ahead in the queue; null: we are not in it. */
  readonly position: number | null;
  /** No line is printed before the wait has lasted this long, in ms; drawing is not delayed. */
  readonly printAfterMs: number;
  /** "held by ... for 3m20s", at this time of day in ms. */
  readonly why: (nowMs: number) => string;
}

/** Prints a line; `paint` adds colours to it. `waitedMs`: for how long the wait has lasted. */
type Print = (line: string, paint: Paint, waitedMs: number) => void;

const everyMs = 1_000;
/** For how long a log may be silent. */
const maxSilenceMs = 60_000;

export class WaitNotice {
  readonly #names: readonly string[];
  readonly #waitMs: number | null;
  readonly #print: Print;
  readonly #output: Output;
  /** dumb: a terminal that cannot move its cursor. */
  readonly #medium: 'terminal' | 'dumb' | 'log';
  readonly #hasColour: boolean;
  #beganAt = Number.POSITIVE_INFINITY;
  #updateCount = 0;
  #state: WaitState | null = null;
  #timer: NodeJS.Timeout | null = null;
  #drawn: TerminalLine | null = null;
  /** What was printed last, and when; null: nothing yet. */
  #printed: { readonly key: string; readonly at: number } | null = null;

  /**
   * `waitMs`: how long the wait may last; null: indefinitely. `output`: without isTTY all lines are
   * printed, and nothing is drawn.
   */
  constructor(
    names: readonly string[],
    waitMs: number | null,
    print: Print,
    output: Output,
    environment: NodeJS.ProcessEnv,
  ) {
    this.#names = names;
    this.#waitMs = waitMs;
    this.#print = print;
    this.#output = output;
    // A terminal may say that its width is 0, as script(1) does in CI: it is a log.
    const isTerminal = output.isTTY === true && Number(output.columns) > 0;
    const kind = environment.TERM === 'dumb' ? 'dumb' : 'terminal';
    this.#medium = isTerminal ? kind : 'log';
    this.#hasColour = mayColour(isTerminal, environment);
  }

  /** An attempt has ended without the lock, and the wait, which has lasted `waitedMs`, goes on. */
  update(state: WaitState, waitedMs: number): void {
    this.#updateCount += 1;
    // A wait that is begun anew, after a lock that came too late, goes on counting.
    this.#beganAt = Math.min(this.#beganAt, performance.now() - waitedMs);
    this.#timer ??= setInterval(() => void this.#show(), everyMs).unref();
    this.#state = state.key === '' ? { ...state, key: this.#state?.key ?? '' } : state;
    // A first attempt is not shown: the second one has the position in the queue, and the
    // answers of all masters; and contenders that split the vote are often done by then.
    if (this.#updateCount >= 2) void this.#show();
  }

  /** Removes the line, so that another one can be printed; the wait goes on. */
  interrupt(): void {
    if (this.#isShowable()) this.#drawn?.erase();
  }

  /** The wait is over. */
  end(): void {
    this.interrupt();
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#state = null;
    this.#updateCount = 0;
  }

  async #show(): Promise<void> {
    const paint = this.#hasColour ? (await import('./colour.ts')).paintedWait : null;
    if (this.#medium === 'terminal') {
      const { TerminalLine } = await import('./terminal-line.ts');
      this.#drawn ??= new TerminalLine(this.#output, () => !isInBackground(), this.#hasColour);
    }
    if (this.#state === null || !this.#isShowable() || !this.#isDue(this.#state)) return;
    const waitedMs = performance.now() - this.#beganAt;
    const { position, why } = this.#state;
    const head = waitingHead(waitedMs, this.#waitMs);
    const line = oneLine(`${head} for ${waitingTail(this.#names, position, why(Date.now()))}`);
    const paintRow = (row: string) =>
      paint && row.startsWith(head) ? paint(head) + row.slice(head.length) : row;
    if (this.#drawn !== null) this.#drawn.draw(line, paintRow);
    else this.#print(line, paintRow, waitedMs);
  }

  /** In the background the terminal is another program's: what is on it is no longer ours. */
  #isShowable(): boolean {
    if (this.#medium === 'log' || !isInBackground()) return true;
    this.#drawn?.forget();
    return false;
  }

  /** Whether a line is to be printed now; on a terminal it is drawn each time. */
  #isDue({ key, printAfterMs }: WaitState): boolean {
    if (this.#medium === 'terminal') return true;
    const now = performance.now();
    if (now - this.#beganAt < printAfterMs) return false;
    if (this.#printed !== null) {
      const silentMs = now - this.#printed.at;
      // A queue may move many times a second.
      const hasChanged = key !== this.#printed.key && silentMs >= everyMs;
      if (this.#medium === 'dumb' || (!hasChanged && silentMs < maxSilenceMs)) return false;
    }
    this.#printed = { key, at: now };
    return true;
  }
}

/** How long no quorum may answer, in ms, before it is worth a line: the end has one as well. */
const quietMs = 5_000;

/** What an event of a wait shows. `slotCount`: how many slots we ask for; null: none. */
export function waitStateOf(event: WaitEvent, slotCount: number | null): WaitState {
  if (event.kind === 'no-quorum') {
    const { failures } = event;
    const printAfterMs = hasRestarted(event) ? 0 : quietMs;
    const why = () => `no quorum: ${failuresLine(failures)}`;
    return { key: event.kind, position: null, printAfterMs, why };
  }
  const { holder, remainingMs, holderCount, position, blockedName } = event;
  const other = otherSlots(holder, slotCount);
  const behind = other === null ? '' : ` (${other})`;
  const name = blockedName === undefined ? '' : `${quoted(blockedName)}: `;
  const why = (nowMs: number) =>
    `${name}${heldByLine(holder, remainingMs, holderCount, nowMs)}${behind}`;
  return { key: holder, position, printAfterMs: 0, why };
}

/** A wait for masters that have restarted is shown early: users do not expect it. */
function hasRestarted({ failures }: Extract<WaitEvent, { kind: 'no-quorum' }>): boolean {
  return failures.some(({ failed }) => failed.cause === 'restarted');
}

/** `waiting 1m12s (of 10m)`. */
export function waitingHead(waitedMs: number, waitMs: number | null): string {
  const limit = waitMs === null ? '' : ` (of ${renderDuration(waitMs)})`;
  return `waiting ${inSeconds(waitedMs)}${limit}`;
}

/** `"deploy": 2nd in the queue; held by ...`. */
export function waitingTail(
  names: readonly string[],
  position: number | null,
  why: string,
): string {
  const where = position === null ? '' : `${ordinal(position + 1)} in the queue; `;
  return `${whichOf(names)}: ${where}${why}`;
}

/** `1st`, `2nd`, `3rd`, `4th`, `11th`. */
function ordinal(count: number): string {
  const isTeen = Math.floor((count % 100) / 10) === 1;
  const result = isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][count % 10] ?? 'th');
  return `${count}${result}`;
}
