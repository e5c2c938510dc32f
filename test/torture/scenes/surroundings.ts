// What a command does to the surroundings that it shares with redlock-run and its guards, by
// mistake or because it is large: it unmounts or covers /proc, fills their memory with files, uses
// up their processor time, or they have no descriptor free.

import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { type Guard, onGuard } from '../faults.ts';
import { beginningIn, isEmpty, limitMemory, limitProcessor, newGroup } from '../groups.ts';
import { ownMounts } from '../means.ts';
import { signal } from '../processes.ts';
import type { Scene } from '../scenes.ts';
import { began, type Done, isInside, type Stage } from '../stage.ts';
import { now } from '../witness.ts';

export const withoutProc: Scene = {
  name: 'without proc',
  isPossible: ({ mounts }) => mounts,
  planned: (plan, random) => {
    if (random.chance(0.1)) return plan;
    const setUp = random.pick(['umount -l /proc', 'mount -t tmpfs none /proc']);
    const maxRun = random.chance(0.15) ? ['--max-run', `${random.integer(300, 2_000)}ms`] : [];
    const flags = [...plan.flags, ...maxRun];
    return { ...plan, through: ownMounts, setUp, flags, explains: maxRun.length > 0 ? [124] : [] };
  },
  faults: {},
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'proc-by-path',
    breaks: 'a guard looks for its children where /proc was',
    edits: [
      {
        file: 'guard/guard.c',
        from: 'return children_fd >= 0 && lseek',
        to:
          'close(children_fd);\n' +
          '  children_fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);\n' +
          '  return children_fd >= 0 && lseek',
      },
    ],
  },
};

// No single mistake is known that it finds: the kernel takes the command first, and were it to take
// the guards first, redlock-run would still end the group.
const memoryBytes = 200 * 1024 * 1024;
/** Less than the limit, but not by as much as redlock-run needs. */
const filesMb = 190;

export const memoryLimit: Scene = {
  name: 'memory limit',
  isPossible: ({ memories, mounts }) => memories.length > 0 && mounts,
  planned: (plan, random, { memories }) => {
    if (random.chance(0.3)) return plan;
    const group = newGroup(random.pick(memories));
    limitMemory(group, memoryBytes);
    const folder = '/mnt';
    const fill = `dd if=/dev/zero of=${folder}/f bs=1M count=${filesMb} 2>/dev/null`;
    const after = random.between(0, 2).toFixed(2);
    const mount = `mount -t tmpfs -o size=${filesMb}m none ${folder}`;
    const setUp = `${mount} && { sleep ${after}; ${fill}; } &`;
    const memory = { group, through: beginningIn(group), within: ownMounts, setUp };
    // The kernel may end any of them. What is promised is that nothing else goes on.
    const workMs = plan.workMs + 2_000;
    return { ...plan, ...memory, workMs, explains: ['SIGKILL', 137] };
  },
  faults: {},
  ttlsMs: [3_000, 4_000, 5_000],
};

/** Share of a core, busy loops and ttl: what the bound of docs/supervision.md is about. */
const quotas = [
  { share: 0.1, shape: 'busy8', ttlMs: 3_000 },
  { share: 0.2, shape: 'busy40', ttlMs: 3_000 },
  { share: 0.05, shape: 'busy20', ttlMs: 3_000 },
  { share: 0.05, shape: 'busy60', ttlMs: 10_000 },
] as const;

export const processorQuota: Scene = {
  name: 'processor quota',
  isPossible: ({ processors }) => processors.length > 0,
  planned: (plan, random, { processors }) => {
    // One lock has them: what is promised is promised of a job, not of ten beside each other.
    if (!plan.lock.endsWith('a')) return plan;
    const ttlMs = Number.parseInt(plan.flags[plan.flags.indexOf('--ttl') + 1] ?? '', 10);
    const { shape } = random.pick(quotas.filter((quota) => quota.ttlMs === ttlMs));
    const group = newGroup(random.pick(processors));
    const words = { group, through: beginningIn(group) };
    // Without a quota, this many busy loops exceed the documented bound.
    return { ...plan, ...words, shape, workMs: 3 * ttlMs, isReserved: true };
  },
  faults: {
    'under a quota': {
      weight: 60,
      fault: onGuard(underQuota, (run, stage) => {
        return run.plan.group !== undefined && isInside(stage, run);
      }),
    },
  },
  ttlsMs: [3_000, 3_000, 3_000, 10_000],
  mistake: {
    name: 'slow-looks',
    breaks: 'a guard needs 40 ms of processor time to look at one process',
    edits: [
      {
        file: 'guard/guard.c',
        from: '    if (!is_outer) atomic_fetch_add(&shared->beat, 1);\n',
        to: '    for (volatile int i = 0; i < 100000000; i++) {}\n',
      },
    ],
  },
};

async function underQuota(stage: Stage, run: Contender, guard: Guard): Promise<readonly Done[]> {
  const { random, ttlMs } = stage;
  const { group = '', shape } = run.plan;
  const share = quotas.find((quota) => quota.shape === shape)?.share ?? 1;
  const byMasters = stage.isMajorityAllowed ? (['masters stopped'] as const) : [];
  const way = random.pick(['killed', 'stopped', 'guard killed', ...byMasters] as const);
  const isByMasters = way === 'masters stopped';
  limitProcessor(group, share);
  await sleep(random.between(200, 1_000));
  const what = way === 'guard killed' ? `${guard.name} killed` : `redlock-run ${way}`;
  const told = `quota of ${100 * share} % (${shape}), ${isByMasters ? way : what}`;
  const done = began(stage, told, run.plan.id);
  if (isByMasters) await stoppedMasters(stage);
  else if (way === 'guard killed') signal(guard.process, 'SIGKILL');
  else run.signal(way === 'killed' ? 'SIGKILL' : 'SIGSTOP');
  for (const endAt = now() + (2.5 * ttlMs) / 1000; !isEmpty(group) && now() < endAt; )
    await sleep(100);
  run.signal('SIGCONT');
  if (!isEmpty(group)) limitProcessor(group, null);
  return [done];
}

/** With this many, the lock cannot be extended. */
async function stoppedMasters({ masters, ttlMs }: Stage): Promise<void> {
  const free = masters.filter(({ isTaken }) => !isTaken);
  for (const master of free) master.isTaken = true;
  await Promise.all(free.map(({ server }) => server.freeze()));
  await sleep(1.2 * ttlMs);
  for (const { server } of free) server.thaw();
  for (const master of free) master.isTaken = false;
}

export const noDescriptors: Scene = {
  name: 'no descriptors',
  isPossible: ({ limits }) => limits,
  planned: (plan) => plan,
  faults: { 'no descriptors': { weight: 40, fault: onGuard(withoutDescriptors) } },
  ttlsMs: [3_000, 4_000, 5_000],
  mistake: {
    name: 'children-opened-anew',
    breaks: 'a guard opens the list of its children each time',
    edits: [
      {
        file: 'guard/guard.c',
        from: 'return children_fd >= 0 && lseek',
        to:
          'close(children_fd);\n' +
          '  children_fd = openat(proc_fd, "thread-self/children", O_RDONLY | O_CLOEXEC);\n' +
          '  return children_fd >= 0 && lseek',
      },
    ],
  },
};

/** Of the guards, or of redlock-run as well. */
async function withoutDescriptors(
  stage: Stage,
  run: Contender,
  guard: Guard,
  other: Guard,
): Promise<readonly Done[]> {
  const { random, ttlMs } = stage;
  // Numbers up to 2 are free in a guard, which has closed its streams.
  const limit = random.pick([0, 4]);
  const all = random.chance(0.5) ? [run.pid] : [];
  for (const pid of [guard.process.pid, other.process.pid, ...all])
    spawnSync('prlimit', [`--pid=${pid}`, `--nofile=${limit}:${limit}`]);
  const ways = ['killed', 'stopped', 'told to end', 'guard killed'] as const;
  const way = random.pick(ways);
  const what = way === 'guard killed' ? `${guard.name} killed` : `redlock-run ${way}`;
  const whose = all.length > 0 ? 'no free descriptors' : 'guards without free descriptors';
  const done = began(stage, `${whose}, ${what}`, run.plan.id);
  if (way === 'guard killed') signal(guard.process, 'SIGKILL');
  else if (way === 'killed') run.signal('SIGKILL');
  else if (way === 'told to end') run.signal('SIGTERM');
  else {
    run.signal('SIGSTOP');
    await sleep(random.between(ttlMs / 3, 1.6 * ttlMs));
    run.signal('SIGCONT');
  }
  return [done];
}
