// The command's process, there ahead of the command: whether it may be, and whether it still may when the lock is ours. It starts no command.
// The surprise: all of it is optional. Whatever goes wrong here, the command is started in the usual way.

import { type Footing, footingOf, isUnchanged } from './footing.ts';
import { Gate } from './gate.ts';
import { Proof } from './proof.ts';
import type { Environment, Start, Subprocess } from './subprocess.ts';

export interface AheadPlan {
  readonly command: readonly string[];
  /** That of the command, but for what the lock adds. */
  readonly environment: Environment;
  /** With what a lock adds. */
  readonly example: Environment;
  /** Right before its process is started, and right after. */
  readonly onStart: () => void;
  readonly onStarted: (pid: number) => void;
}

export class Ahead {
  #proof: Proof | null = null;
  #ready: { readonly gate: Gate; readonly footing: Footing } | null = null;
  #isOver = false;

  /** Starts it where it may be. Rejects when the machine is out of something, and nobody is there then. */
  async prepare(start: Start, plan: AheadPlan): Promise<void> {
    const { command, environment, example, onStart, onStarted } = plan;
    const footing = footingOf(command, environment);
    if (!footing || this.#isOver) return;
    const proof = new Proof(start, environment);
    this.#proof = proof;
    const isFaithful = await proof.isFaithful(example);
    await proof.close();
    this.#proof = null;
    if (!isFaithful || this.#isOver) return;
    onStart();
    const gate = new Gate(start, command, environment);
    try {
      if (gate.pid) onStarted(gate.pid);
      this.#ready = { gate, footing };
    } catch (error) {
      await gate.close();
      throw error;
    }
  }

  /** Becomes the command. null: there is none, or it might become another one than the system would start now. Nobody else passes. */
  pass(environment: Environment): Subprocess | null {
    const ready = this.#ready;
    const passed = ready && isUnchanged(ready.footing) ? ready.gate.pass(environment) : null;
    if (passed) this.#ready = null;
    void this.close();
    return passed;
  }

  /** Nobody passes any more. Resolves when nobody waits for it. */
  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.all([this.#ready?.gate.close(), this.#proof?.close()]);
  }
}
