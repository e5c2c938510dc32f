// Why a lock is held, and by which CI job, as text: what --note says and the address of the job.
// Other clients can write it too, so it is made fit for a terminal and a log.

import { printable } from './printable.ts';
import { quoted } from './quote.ts';

/** `null` and absent: there is none. */
export interface Reason {
  readonly note?: string | null | undefined;
  readonly url?: string | null | undefined;
}

/** `note "release 4.2"` and `https://ci.example.com/7`, as far as they are there. */
export function reasonParts({ note, url }: Reason): string[] {
  return [...(note ? [`note ${quoted(note, 200)}`] : []), ...(url ? [printable(url, 250)] : [])];
}

/** The same behind a text: `, note "release 4.2", https://ci.example.com/7`, or nothing. */
export function reasonBehind(reason: Reason): string {
  return reasonParts(reason)
    .map((part) => `, ${part}`)
    .join('');
}
