// What keeps a command from being started that is neither the user's mistake nor a bug: this machine has no guard or no
// isolation to give. Told in one line, with nothing started and nothing locked.

export class RunTrouble extends Error {
  override readonly name = 'RunTrouble';
  /** As sysexits(3) has it: a support program is unavailable. */
  readonly exitCode = 69;
}
