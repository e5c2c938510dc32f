// The exit status of redlockctl: the same numbers for the same things as in redlock-run, and what they mean here. The surprise:
// a lock that somebody holds is 75 also when one only asked, so that `until redlockctl status x; do sleep 1; done` works.

export const exitCode = {
  ok: 0,
  warnings: 1,
  usage: 64,
  unreachable: 69,
  bug: 70,
  output: 74,
  busy: 75,
  config: 78,
  lost: 79,
} as const;

/** What each code means: for --help and the man page. */
export const exitCodeTable: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'done; status: free; doctor: nothing but warnings at worst'],
  ['1', 'doctor --strict: warnings, or things that could not be found out'],
  ['64', 'usage error'],
  ['69', 'no quorum: too few masters answered to tell who holds the lock'],
  ['70', 'a bug in redlockctl'],
  ['74', 'the output could not be written, or nobody read it to its end'],
  ['75', 'status, acquire, hold: held by someone; break: not broken, it is in other hands, or nobody said yes'],
  [
    '78',
    'configuration: unreadable, not trusted, invalid, no masters, a server listed twice, a replica; doctor: errors',
  ],
  ['79', 'extend, release, check: the lock is not held with this token any more; hold: it was lost'],
];

/** The worst of several, where any failure beats a held lock and a held lock beats a free one. */
export function worstOf(codes: readonly number[]): number {
  const order: readonly number[] = [exitCode.config, exitCode.unreachable, exitCode.busy];
  return order.find((code) => codes.includes(code)) ?? exitCode.ok;
}
