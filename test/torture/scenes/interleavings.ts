// redlock-run and its guards stopped in turn, one of them or redlock-run with one guard, each for a
// while that may reach beyond a deadline. One guard is always well.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { type Guard, onGuard } from '../faults.ts';
import { canAct, isThere, signal } from '../processes.ts';
import type { Scene } from '../scenes.ts';
import { began, type Done, isInside, type Stage } from '../stage.ts';

export const interleavings: Scene = {
  name: 'stopped in turn',
  isPossible: () => true,
  planned: (plan) => plan,
  faults: {
    'stopped in turn': { weight: 30, fault: onGuard(inTurn, (run, stage) => isInside(stage, run)) },
  },
  ttlsMs: [3_000, 4_000],
  mistake: {
    name: 'outer-never-acts',
    breaks: 'the outer guard neither continues a stopped inner one nor takes over from it',
    edits: [
      { file: 'guard/guard.c', from: 'kill(inner, SIGCONT);', to: '(void)0;' },
      {
        file: 'guard/guard.c',
        from: 'if (seen_at != 0 && beats == beat) {',
        to: 'if (seen_at < 0 && beats == beat) {',
      },
    ],
  },
};

async function inTurn(
  stage: Stage,
  run: Contender,
  guard: Guard,
  other: Guard,
): Promise<readonly Done[]> {
  const { random, ttlMs } = stage;
  const done: Done[] = [];
  const isWell = () =>
    [guard, other].every(({ process }) => isThere(process) && canAct(process.pid)) && !run.hasEnded;
  for (let turns = random.integer(1, 4); turns > 0 && isWell(); turns -= 1) {
    const stopped = random.pick([[guard], [other], [null], [null, guard], [null, other]]);
    const send = (name: NodeJS.Signals) => {
      for (const one of stopped) {
        if (one === null) run.signal(name);
        else signal(one.process, name);
      }
    };
    const names = stopped.map((one) => one?.name ?? 'redlock-run').join(' and ');
    done.push(began(stage, `${names} stopped in turn`, run.plan.id));
    send('SIGSTOP');
    // It may have ended its guards in the moment before.
    if (isWell()) await sleep(random.between(20, random.pick([300, 2_000, 1.6 * ttlMs])));
    send('SIGCONT');
    if (random.chance(0.5)) await sleep(random.around(30));
  }
  if (random.chance(0.5) && isWell()) {
    const killed = random.pick([guard, other, null]);
    done.push(began(stage, `${killed?.name ?? 'redlock-run'} killed`, run.plan.id));
    if (killed === null) run.signal('SIGKILL');
    else signal(killed.process, 'SIGKILL');
  }
  return done;
}
