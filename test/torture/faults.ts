// The faults, each with what it does, and how it heals. A fault is done to a run only as far as
// the documentation promises something: of redlock-run and its two guards, one is always well. All
// three stopped or killed together are a documented exception (docs/supervision.md).

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
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
/** The shapes whose processes are all in the group of the command. */
const inOneGroup = ['plain', 'deaf', 'stopped', 'many'];
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
  ...ofEachGuard('killed', 8, ({ process }) => signal(process, 'SIGKILL')),
  ...ofEachGuard('stopped', 5, async ({ process }, { stage }) => {
    signal(process, 'SIGSTOP');
    await sleep(stage.random.between(20, 4_000));
    signal(process, 'SIGCONT');
  }),
  ...ofEachGuard('stopped, then redlock-run killed', 4, async ({ process }, { stage, run }) => {
    signal(process, 'SIGSTOP');
    await sleep(stage.random.between(0, 1_000));
    run.signal('SIGKILL');
    await sleep(stage.random.between(0, 2 * stage.ttlMs));
    signal(process, 'SIGCONT');
  }),
  ...ofEachGuard('and redlock-run stopped', 4, async ({ process }, { stage, run }) => {
    signal(process, 'SIGSTOP');
    run.signal('SIGSTOP');
    await sleep(stage.random.between(20, 1.6 * stage.ttlMs));
    run.signal('SIGCONT');
    await sleep(stage.random.between(0, 300));
    signal(process, 'SIGCONT');
  }),
  ...ofEachGuard('killed, redlock-run stopped', 4, async ({ process }, { stage, run }) => {
    run.signal('SIGSTOP');
    await sleep(stage.random.between(0, 300));
    signal(process, 'SIGKILL');
    await sleep(stage.random.between(20, 1.6 * stage.ttlMs));
    run.signal('SIGCONT');
  }),
  ...ofEachGuard('killed in a stop', 4, async ({ process }, { stage, run }) => {
    run.signal('SIGTERM');
    await sleep(stage.random.between(0, 1_000));
    signal(process, 'SIGKILL');
  }),
  ...ofEachGuard('traced', 4, traced),
  // redlock-run extends the lock during that time, so no deadline may pass.
  'both guards stopped': {
    weight: 2,
    fault: onGuard(async (stage, run, guard, other) => {
      if (stage.isMajorityAllowed) return [];
      const done = began(stage, 'both guards stopped', run.plan.id);
      for (const { process } of [guard, other]) signal(process, 'SIGSTOP');
      await sleep(stage.random.between(20, 4_000));
      for (const { process } of [guard, other]) signal(process, 'SIGCONT');
      return [done];
    }),
  },
  // redlock-run kills the group of the command by its number then, and no other process.
  'both guards killed': {
    weight: 2,
    fault: onGuard(
      async (stage, run, guard, other) => {
        const done = began(stage, 'both guards killed', run.plan.id);
        for (const { process } of [guard, other]) signal(process, 'SIGKILL');
        return [done];
      },
      ({ plan }) => plan.isIsolated || inOneGroup.includes(plan.shape),
    ),
  },
  'redlock-run and both guards killed (--isolate)': {
    weight: 12,
    fault: onGuard(
      async (stage, run, guard, other) => {
        const done = began(stage, 'all killed, with --isolate', run.plan.id);
        killAll(run, guard, other);
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
export const allKilled: Readonly<Record<string, Kind>> = {
  'redlock-run and both guards killed': {
    weight: 1,
    fault: onGuard(
      async (stage, run, guard, other) => {
        const done = began(stage, 'all killed, without --isolate', run.plan.id);
        killAll(run, guard, other);
        return [done];
      },
      (run, stage) => isInside(stage, run) && !run.plan.isIsolated,
    ),
  },
};

/** None of them acts after the first one has been killed. */
function killAll(run: Contender, ...guards: readonly Guard[]): void {
  run.signal('SIGSTOP');
  for (const { process } of guards) signal(process, 'SIGSTOP');
  for (const { process } of guards) signal(process, 'SIGKILL');
  run.signal('SIGKILL');
}

interface Scope {
  readonly stage: Stage;
  readonly run: Contender;
}

/** The same fault of the outer and of the inner guard. */
function ofEachGuard(
  what: string,
  weight: number,
  does: (guard: Guard, scope: Scope) => unknown,
): Readonly<Record<string, Kind>> {
  return {
    [`guard ${what}`]: {
      weight: 2 * weight,
      fault: onGuard(async (stage, run, guard) => {
        const done = began(stage, `${guard.name} ${what}`, run.plan.id);
        await does(guard, { stage, run });
        return [done];
      }),
    },
  };
}

/** By a program that lets no signal through to it, not even SIGKILL, until it ends itself. */
async function traced({ process: guard }: Guard, { stage, run }: Scope): Promise<void> {
  if (!stage.means.traces) return;
  const tracer = spawn('perl', ['test/guard/fixtures/seize.pl', String(guard.pid)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  dieWithUs(tracer.pid ?? 0);
  await Promise.race([once(tracer.stdout, 'data'), once(tracer, 'exit')]);
  const name = stage.random.pick(['SIGTERM', 'SIGKILL', null] as const);
  if (name !== null) run.signal(name);
  await sleep(stage.random.between(20, 1.6 * stage.ttlMs));
  tracer.kill('SIGKILL');
  forget(tracer.pid ?? 0);
}

function isForAll({ plan }: Contender): boolean {
  return plan.isReserved !== true;
}

/** A fault of a run that nothing has been done to: mostly one whose command is running. */
export function onRun(
  does: (stage: Stage, run: Contender) => Promise<readonly Done[]>,
  isMeant: (run: Contender, stage: Stage) => boolean = isForAll,
): Fault {
  return (stage) => {
    const { random, contenders } = stage;
    const isFree = (run: Contender) =>
      !run.isTaken && !run.hasEnded && !run.plan.isLawless && isMeant(run, stage);
    const inside = holders(stage).filter(isFree);
    const all = [...contenders].filter(isFree);
    const from = inside.length > 0 && random.chance(0.8) ? inside : all;
    if (from.length === 0) return null;
    const run = random.pick(from);
    run.isTaken = true;
    return does(stage, run);
  };
}

export interface Guard {
  readonly name: 'outer guard' | 'inner guard';
  readonly process: Identity;
}

/** A fault of one guard, which may be either; `other` is the other one. */
export function onGuard(
  does: (stage: Stage, run: Contender, guard: Guard, other: Guard) => Promise<readonly Done[]>,
  isMeant: (run: Contender, stage: Stage) => boolean = isForAll,
): Fault {
  return onRun(
    (stage, run) => {
      const guards = run.guards();
      if (guards === null) return Promise.resolve([]);
      const outer: Guard = { name: 'outer guard', process: guards.outer };
      const inner: Guard = { name: 'inner guard', process: guards.inner };
      const isOuter = stage.random.chance(0.5);
      return isOuter ? does(stage, run, outer, inner) : does(stage, run, inner, outer);
    },
    (run, stage) => run.guards() !== null && isMeant(run, stage),
  );
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
