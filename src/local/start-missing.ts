// The rare path: some of the local masters are not there. Whoever gets the turn looks again and starts what is missing; the
// others wait and look. Nothing is kept between runs but the servers themselves.
//
// The surprise: looking again comes after taking the turn, and the turn must be fresh at the very moment of starting; a
// server that is started on a socket takes it away from one that is already there.

import { setTimeout as sleep } from 'node:timers/promises';
import { makePrivateDirectory } from './directory.ts';
import { isListening, startServer } from './server.ts';
import { type Environment, findServerProgram, type ServerProgram } from './server-program.ts';
import { LocalTrouble, NoServerProgram } from './trouble.ts';
import { lifetimeMs, takeTurn } from './turn.ts';

/** A little longer than a dead starter can keep its turn. */
const patienceMs = lifetimeMs + 5_000;

/** Returns when something listens on each socket. Throws LocalTrouble, after fifteen seconds at the latest. */
export async function startMissing(
  directory: string,
  sockets: readonly string[],
  environment: Environment,
): Promise<void> {
  const program = await findServerProgram(environment);
  if (program === null) throw new NoServerProgram();
  makePrivateDirectory(directory);
  const endAt = performance.now() + patienceMs;
  while ((await missing(sockets)).length > 0) {
    const turn = takeTurn(directory);
    if (turn !== null) {
      try {
        const absent = await missing(sockets);
        if (turn.isFresh()) await startAll(program, absent);
      } finally {
        turn.end();
      }
    } else if (performance.now() > endAt) {
      throw new LocalTrouble(
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

/** All are up or given up when this ends, also when one of them fails: the turn is over then. */
async function startAll(program: ServerProgram, sockets: readonly string[]): Promise<void> {
  const outcomes = await Promise.allSettled(sockets.map((socket) => startServer(program, socket)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

async function missing(sockets: readonly string[]): Promise<string[]> {
  const listening = await Promise.all(sockets.map(isListening));
  return sockets.filter((_, index) => !listening[index]);
}
