// An error that keeps a command from being started and is neither the user's mistake nor a bug:
// this machine allows no guard, no isolation or too few files. Nothing is started, and nothing is
// locked.

export class RunError extends Error {
  override readonly name = 'RunError';
  /** As sysexits(3) has it: a support program is unavailable. */
  readonly exitCode = 69;
}
