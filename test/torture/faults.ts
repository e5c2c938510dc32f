// The faults, each with what it does, and how it heals. A fault is done to a run only as far as
// the documentation promises something: of redlock-run and its guard, one is always well. The two
// stopped or killed together are a documented exception (docs/supervision.md).

import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { dieWithUs, forget } from '../servers/watchdog.ts';
import type { CellMaster } from './cell-master.ts';
import type { Contender } from './contender.ts';
import { type Identity, signal } from './processes.ts';
import { began, type Done, freeMaster, holders, isInside, type Stage } from './stage.ts';

/**
 * Begins the fault. Resolves when it is over, with what was done; null: there was nothing to do it
 * to.
 */
type Fault = (stage: Stage) => Promise<readonly Done[]> | null;

/** How often each fault is drawn, beside the others. */
export interface Kind {
  readonly weight: number;
  readonly fault: Fault;
}

const briefFault = 'connections cut';
const everyMaster = ['forgets', 'keeps', 'small-disk'];

export const faults: Readonly<Record<string, Kind>> = {
  'redlock-run killed': {
    weight: 6,
    fault: onRun(async (stage, run) => {
      const done = began(stage, 'redlock-run killed', run.plan.id);
      run.signal('SIGKILL');
      return [done];
    }),
  },
  'redlock-run stopped': {
    weight: 8,
    fault: onRun(async (stage, run) => {
      const { random, ttlMs } = stage;
      const isLong = random.chance(0.5);
      const forMs = isLong ? random.between(ttlMs, 1.6 * ttlMs) : random.between(20, ttlMs / 3);
      const done = began(stage, 'redlock-run stopped', run.plan.id);
      run.signal('SIGSTOP');
      await sleep(forMs);
      run.signal('SIGCONT');
      return [done];
    }),
  },
  'redlock-run told to end': {
    weight: 3,
    fault: onRun(async (stage, run) => {
      const done = began(stage, 'redlock-run told to end', run.plan.id);
      run.signal('SIGTERM');
      return [done];
    }),
  },
  'guard killed': {
    weight: 9,
    fault: onGuard(async (stage, run, guard) => {
      const done = began(stage, 'guard killed', run.plan.id);
      signal(guard, 'SIGKILL');
      return [done];
    }),
  },
  'guard stopped': {
    weight: 6,
    fault: onGuard(async (stage, run, guard) => {
      const done = began(stage, 'guard stopped', run.plan.id);
      signal(guard, 'SIGSTOP');
      await sleep(stage.random.between(20, 4_000));
      signal(guard, 'SIGCONT');
      return [done];
    }),
  },
  'guard of a waiter stopped, then redlock-run killed': {
    weight: 3,
    fault: onGuard(
      async (stage, run, guard) => {
        const first = began(stage, 'guard of a waiter stopped', run.plan.id);
        signal(guard, 'SIGSTOP');
        for (let tries = 0; !isInside(stage, run) && !run.hasEnded && tries < 400; tries += 1)
          await sleep(20);
        // The witness sees a beginning later than it is. A guard that was stopped after it had
        // started the command would be out together with redlock-run.
        const starter = stage.witness.sectionOf(run.plan.id)?.parent;
        const isWell = starter !== guard.pid && starter === run.guard()?.pid;
        if (!isWell || run.hasEnded || !isInside(stage, run)) {
          signal(guard, 'SIGCONT');
          return [first];
        }
        // Another guard has started the command.
        await sleep(stage.random.between(0, 1_000));
        const second = began(stage, 'redlock-run killed after the wait', run.plan.id);
        run.signal('SIGKILL');
        return [first, second];
      },
      // In a PID namespace the command does not see its guard.
      (run, stage) => !isInside(stage, run) && !run.plan.isIsolated,
    ),
  },
  'redlock-run and guard killed together (--isolate)': {
    weight: 12,
    fault: onGuard(
      async (stage, run, guard) => {
        const done = began(stage, 'both killed, with --isolate', run.plan.id);
        run.signal('SIGKILL');
        signal(guard, 'SIGKILL');
        return [done];
      },
      ({ plan }) => plan.isIsolated,
    ),
  },
  'master killed': { weight: 2, fault: onMaster('master killed', everyMaster, restart) },
  'masters killed at the same time': {
    weight: 0.4,
    fault: (stage) => {
      const free = stage.masters.filter(({ isTaken, kind }) => !isTaken && kind !== 'clock');
      const hasClock = stage.masters.some(({ kind }) => kind === 'clock');
      if (!stage.isMajorityAllowed || hasClock || free.length < 2) return null;
      return Promise.all(
        free.map(async (master) => {
          master.isTaken = true;
          const done = began(stage, 'masters killed at the same time', master.name);
          await restart(stage, master);
          master.isTaken = false;
          return done;
        }),
      );
    },
  },
  'master stopped': {
    weight: 10,
    fault: onMaster('master stopped', everyMaster, async ({ random, ttlMs }, { server }) => {
      await server.freeze();
      await sleep(random.chance(0.8) ? random.between(10, 400) : random.between(400, ttlMs));
      server.thaw();
    }),
  },
  'connections cut': {
    weight: 14,
    fault: onMaster(briefFault, everyMaster, async (_stage, { server }) => {
      for (const type of ['normal', 'pubsub'])
        await server.command('client', 'kill', 'type', type, 'skipme', 'yes');
    }),
  },
  'disk full': {
    weight: 8,
    fault: onMaster('disk full', ['small-disk'], async ({ random }, master) => {
      master.fillDisk();
      await sleep(random.between(200, 2_000));
      master.emptyDisk();
    }),
  },
  'clock of a master set': { weight: 20, fault: setClock },
  'machine crowded': {
    weight: 0.5,
    fault: (stage) => {
      const done = began(stage, 'machine crowded', 'machine');
      const busy = Array.from({ length: stage.random.integer(2, 6) }, busyLoop);
      return sleep(stage.random.between(200, 1_500)).then(() => {
        for (const { child, pid } of busy) {
          child.kill('SIGKILL');
          forget(pid);
        }
        return [done];
      });
    },
  },
};

/** What the documentation excludes, so that the witness must find it. */
export const bothKilled: Readonly<Record<string, Kind>> = {
  'redlock-run and guard killed together': {
    weight: 1,
    fault: onGuard(
      async (stage, run, guard) => {
        const done = began(stage, 'both killed, without --isolate', run.plan.id);
        run.signal('SIGSTOP');
        signal(guard, 'SIGKILL');
        run.signal('SIGKILL');
        return [done];
      },
      (run, stage) => isInside(stage, run) && !run.plan.isIsolated,
    ),
  },
};

/** A fault of a run that nothing has been done to: mostly one whose command is running. */
export function onRun(
  does: (stage: Stage, run: Contender) => Promise<readonly Done[]>,
  isMeant: (run: Contender, stage: Stage) => boolean = () => true,
): Fault {
  return (stage) => {
    const { random, contenders } = stage;
    const isFree = (run: Contender) =>
      !run.isTaken && !run.hasEnded && !isExcepted(run, stage) && isMeant(run, stage);
    const inside = holders(stage).filter(isFree);
    const all = [...contenders].filter(isFree);
    const from = inside.length > 0 && random.chance(0.8) ? inside : all;
    if (from.length === 0) return null;
    const run = random.pick(from);
    run.isTaken = true;
    return does(stage, run);
  };
}

/**
 * A guard that is blocked in a slow start is as good as stopped: redlock-run must be well then, as
 * the documentation says.
 */
function isExcepted(run: Contender, stage: Stage): boolean {
  const { isLawless, startMs = 0 } = run.plan;
  return isLawless || (startMs > 0 && !isInside(stage, run));
}

export function onGuard(
  does: (stage: Stage, run: Contender, guard: Identity) => Promise<readonly Done[]>,
  isMeant: (run: Contender, stage: Stage) => boolean = () => true,
): Fault {
  return (stage) => {
    const hasGuard = (run: Contender) => run.guard() !== null && isMeant(run, stage);
    return (
      onRun((_, run) => {
        const guard = run.guard();
        return guard === null ? Promise.resolve([]) : does(stage, run, guard);
      }, hasGuard)(stage) ?? null
    );
  };
}

function onMaster(
  kind: string,
  kinds: readonly string[],
  does: (stage: Stage, master: CellMaster) => Promise<void>,
): Fault {
  return (stage) => {
    // Beside a master whose clock is set, all others must be well.
    if (stage.masters.some((master) => master.kind === 'clock')) return null;
    const master = freeMaster(stage, kinds, kind === briefFault);
    if (master === null) return null;
    master.isTaken = true;
    const done = began(stage, kind, master.name);
    return does(stage, master).then(() => {
      master.isTaken = false;
      return [done];
    });
  };
}

/** Killed, and started again at once or after a while. */
async function restart({ random }: Stage, { server }: CellMaster): Promise<void> {
  await server.kill();
  await sleep(random.chance(0.5) ? 0 : random.between(50, 1_500));
  await server.restart();
}

/**
 * A master that is set forward lets its keys go, so the lock must stand on all others as well: no
 * clock of a master may be stepped while the lock stands on a bare quorum.
 */
function setClock(stage: Stage): Promise<readonly Done[]> | null {
  const { masters, random } = stage;
  const master = masters.find(({ kind }) => kind === 'clock');
  if (master === undefined || master.isTaken) return null;
  const locks = [...new Set([...stage.contenders].map(({ plan }) => plan.lock))];
  master.isTaken = true;
  return (async () => {
    try {
      const offset = random.between(-60, 60);
      const values = await Promise.all(
        locks.map((lock) =>
          Promise.all(masters.map(({ server }) => server.get(`redlock:${lock}`))),
        ),
      );
      const stands = values.every((all) => all[0] !== null && new Set(all).size === 1);
      if (!stands) return [];
      const done = began(stage, 'clock of a master set', `${master.name} ${offset.toFixed(1)}`);
      master.setClock(offset);
      return [done];
    } finally {
      master.isTaken = false;
    }
  })();
}

function busyLoop(): { readonly child: ChildProcess; readonly pid: number } {
  const child = spawn('/bin/sh', ['-c', 'while :; do :; done'], { stdio: 'ignore' });
  const pid = child.pid ?? 0;
  if (pid > 0) dieWithUs(pid);
  return { child, pid };
}
