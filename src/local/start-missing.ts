// Starts the local masters that are missing, which is rare. The run that takes the turn looks again
// and starts them; the others wait and look. *Invariant:* the second look comes after taking the
// turn, and the turn must be fresh at the moment of the start: a server that is started on a socket
// takes it away from one that is present.

import { setTimeout as sleep } from 'node:timers/promises';
import { makePrivateDirectory } from './directory.ts';
import { LocalError, NoServerProgram, onDisk } from './error.ts';
import { isListening, startServer } from './server.ts';
import { type Environment, findServerProgram, type ServerProgram } from './server-program.ts';
import { lifetimeMs, takeTurn } from './turn.ts';

/** A little longer than a dead run can keep its turn. */
const waitLimitMs = lifetimeMs + 5_000;

/** Resolves when a server listens on each socket. Throws LocalError, after 15 s at the latest. */
export async function startMissing(
  directory: string,
  sockets: readonly string[],
  environment: Environment,
): Promise<void> {
  const program = await findServerProgram(environment);
  if (program === null) throw new NoServerProgram();
  makePrivateDirectory(directory);
  const endAt = performance.now() + waitLimitMs;
  while ((await missing(sockets)).length > 0) {
    const turn = onDisk(directory, () => takeTurn(directory));
    if (turn !== null) {
      try {
        const absent = await missing(sockets);
        if (turn.isFresh()) await startAll(program, absent);
      } finally {
        onDisk(directory, () => turn.end());
      }
    } else if (performance.now() > endAt) {
      throw new LocalError(
        69,
        directory,
        'another run did not finish starting the servers',
        'try again',
      );
    } else {
      await sleep(20 + 20 * Math.random());
    }
  }
}

/** Waits for the start or the failure of all, even if one fails: the turn is over then. */
async function startAll(program: ServerProgram, sockets: readonly string[]): Promise<void> {
  const outcomes = await Promise.allSettled(sockets.map((socket) => startServer(program, socket)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

async function missing(sockets: readonly string[]): Promise<string[]> {
  const listening = await Promise.all(sockets.map(isListening));
  return sockets.filter((_, index) => !listening[index]);
}
