// How long the tests wait for a state on this machine, as it is now. It may be slow, or busy with
// other work; a test that waits too short a time for it fails without a bug. Only waits for a state
// are scaled, never a time that the product promises. scripts/patience.js measures the factor.

/** A limit for a state to come, or for a program to end, that is generous on this machine. */
export function generous(ms: number): number {
  return ms * Number(process.env.TEST_PATIENCE ?? 3);
}
