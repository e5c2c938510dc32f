// That a command which passes a gate sees what it would have seen without one: its environment, to the letter. It is tried out with a command
// that shows it. The surprise: shells differ. Some drop what they cannot name, some add variables of their own, some complain of what they
// find there; then there is no gate, and nothing is lost but a millisecond.

import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gate } from './gate.ts';
import type { Environment, Start } from './subprocess.ts';

const proofMs = 1_000;

/** A try of a gate by a command that shows its environment. */
export class Proof {
  readonly #gate: Gate;

  constructor(start: Start, before: Environment) {
    this.#gate = new Gate(start, ['cat', '/proc/self/environ'], before, ['ignore', 'pipe', 'pipe']);
  }

  /** Whether it sees `environment`, and nobody has said a word. False also where there is no /proc to show it. */
  async isFaithful(environment: Environment): Promise<boolean> {
    const subprocess = this.#gate.pass(environment);
    if (!subprocess) return false;
    const saying = Promise.all([subprocess.stdout, subprocess.stderr].map((stream) => text(stream as Readable)));
    // It may be closed meanwhile.
    const said = await Promise.race([saying, sleep(proofMs, null, { ref: false })]).catch(() => null);
    if (said === null) return false;
    const [shown = '', complaints] = said;
    const expected = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    return complaints === '' && shown.split('\0').slice(0, -1).sort().join('\0') === expected.sort().join('\0');
  }

  close(): Promise<void> {
    return this.#gate.close();
  }
}
