// The guard where something is missing or hostile: no /proc, no descriptor, no right to kill, trees
// that grow. cases.ts has the guards that die or stop.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { procText } from '../servers/proc.ts';
import { eventually, isAlive } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { compile, guardFile, guardSource } from './build.ts';
import { closeAll, RealGuard } from './real-guard.ts';

const isRoot = process.getuid?.() === 0;
const hasMounts = spawnSync('unshare', ['-m', 'true']).status === 0;
const hasLimits = spawnSync('prlimit', ['--version']).status === 0;
const hasIsolation = spawnSync(guardFile(), ['--isolate', '--check']).status === 0;
const noNamespaces = 'echo 0 >/proc/sys/user/max_pid_namespaces';
const hasUsers = spawnSync('unshare', ['-Ur', 'sh', '-c', noNamespaces]).status === 0;
const chain = `${import.meta.dirname}/fixtures/chain.pl`;
const seize = `${import.meta.dirname}/fixtures/seize.pl`;
const nobody = ['--reuid=65534', '--regid=65534', '--clear-groups'];
const canBecome = isRoot && spawnSync('setpriv', [...nobody, 'true']).status === 0;
const canTrace = isRoot && hasPerl; // A user may trace children only, where yama says so.
const needs = { hasPerl, hasMounts, hasLimits, hasIsolation, hasUsers, canBecome, canTrace };
for (const [what, isHere] of Object.entries(needs))
  if (!isHere) process.stderr.write(`  SKIPPED: faults of a guard: not ${what}\n`);

const stubborn = 'trap "" TERM; setsid sleep 120 & sleep 120 & echo ready; wait; sleep 120';
/** The ways in which a tree is ended. */
const ways = [
  { way: 'a stop, and its grace', end: (guard: RealGuard) => guard.send('stop 15 20\n') },
  { way: 'a kill', end: (guard: RealGuard) => guard.send('kill\n') },
  { way: 'the death of redlock-run', end: (guard: RealGuard) => guard.abandon() },
  { way: 'the death of the inner guard', end: (guard: RealGuard) => guard.happens('inner dies') },
  { way: 'the death of the outer guard', end: (guard: RealGuard) => guard.happens('outer dies') },
];

afterAll(closeAll);

describe.skipIf(!hasMounts)('without /proc', () => {
  it.concurrent.each([
    ...['umount -l /proc', 'mount -t tmpfs none /proc'].flatMap((how) =>
      ways.map((way) => ({ ...way, how })),
    ),
  ])('($how) nothing is left after $way', async ({ how, end }) => {
    const through = ['unshare', '-m', '--propagation', 'private'];
    const guard = new RealGuard(['sh', '-c', `${how}; ${stubborn}`], { through, graceMs: 20 });
    await guard.ready();
    await end(guard);
    await guard.gone();
  });
});

describe.skipIf(!hasLimits)('without free descriptors', () => {
  it.concurrent.each(ways)('nothing is left after $way', async ({ end }) => {
    const guard = new RealGuard(['sh', '-c', stubborn], { graceMs: 20 });
    await guard.ready();
    for (const pid of [guard.pid, guard.innerPid])
      expect(spawnSync('prlimit', [`--pid=${pid}`, '--nofile=4:4']).status).toBe(0);
    await end(guard);
    await guard.gone();
  });
});

describe.skipIf(process.platform !== 'linux')('under a quota', () => {
  const busy = 'echo ready; while :; do :; done';
  // A thread that runs has its turn first: these limits make a minute of it, and half a minute.
  const [tiny, small, none] = ['10', '20', '-1'];

  it.concurrent('a quota set later ends a command that it leaves too little time', async () => {
    const { guard, file } = underQuota(busy, none);
    await guard.ready();
    writeFileSync(file, tiny);
    await guard.gone();
    expect(guard.reports.slice(1)).toEqual(['starved', 'signaled 9', 'ended']);
  });

  it.concurrent('a quota of the start does so with the next deadlines', async () => {
    const { guard } = underQuota(busy, tiny);
    await guard.ready();
    await guard.happens({ deadlines: [50_000, 50_000] });
    await guard.gone();
    expect(guard.reports.slice(1)).toEqual(['starved', 'signaled 9', 'ended']);
  });

  it.concurrent('a quota set in the grace of a stop shortens it', async () => {
    const { guard, file } = underQuota(`trap "echo told" TERM; ${busy}`, none);
    await guard.ready();
    await guard.happens({ deadlines: [0, 50_000] });
    await guard.says(/told/);
    await guard.happens({ passes: 300 }); // The outer guard stops it 50 ms later.
    writeFileSync(file, tiny);
    await guard.gone();
    expect(guard.reports.slice(1)).toEqual(['stopping', 'signaled 9', 'ended']);
  });

  it.concurrent('a quota of a later period, which is its second number, does so', async () => {
    const { guard, file } = underQuota(busy, none);
    await guard.ready();
    writeFileSync(file, '200000 1000000\n'); // More than a core of the period of the start.
    await guard.happens({ deadlines: [3_000, 3_000] });
    await guard.gone();
    expect(guard.reports.slice(1)).toEqual(['starved', 'signaled 9', 'ended']);
  });

  it.concurrent('a quota does not end a command that waits', async () => {
    const { guard, file } = underQuota('sleep 60 & sleep 60 & sleep 0.3; echo ready; wait', none);
    await guard.ready();
    writeFileSync(file, small);
    await guard.happens({ deadlines: [50_000, 50_000] });
    guard.send('stop 15 50000\n');
    await guard.gone();
    expect(guard.reports.slice(1)).toEqual(['signaled 15', 'ended']);
  });
});

function underQuota(script: string, quota: string): { guard: RealGuard; file: string } {
  const file = join(mkdtempSync(join(scratchFolder(), 'quota-')), 'limit');
  writeFileSync(file, quota);
  const options = [`--quota=${file}`, '--quota-period=100000'];
  const start = { options, stopIn: 50_000, killIn: 50_000 };
  return { guard: new RealGuard(['sh', '-c', script], start), file };
}

describe.skipIf(!hasIsolation)('with --isolate', () => {
  it.concurrent.each(ways)('nothing is left after $way', async ({ end }) => {
    const guard = new RealGuard(['sh', '-c', stubborn], { options: ['--isolate'], graceMs: 20 });
    await guard.ready();
    await end(guard);
    await guard.gone();
  });

  it('the command has a number of its own, and sees no other processes', async () => {
    const script = 'echo "pid $$"; cd /proc && echo [0-9]*; exit 3';
    const guard = new RealGuard(['sh', '-c', script], { options: ['--isolate'] });
    await guard.gone();
    expect(guard.output).toBe('pid 2\n1 2\n');
    expect(guard.reports).toEqual(['started 2', 'exited 3 0', 'ended']);
  });

  it.skipIf(!hasUsers)('a namespace that is not allowed is no fault of the command', async () => {
    const through = ['unshare', '-Ur', 'sh', '-c', `${noNamespaces} && exec "$@"`, 'sh'];
    const guard = new RealGuard(['true'], { options: ['--isolate'], through });
    await guard.gone();
    expect(guard.reports).toEqual(['unable clone: No space left on device']);
  });

  it('nothing is left where both guards are killed', async () => {
    const guard = new RealGuard(['sh', '-c', stubborn], { options: ['--isolate'] });
    await guard.ready();
    process.kill(guard.innerPid, 'SIGKILL');
    process.kill(guard.pid, 'SIGKILL');
    await guard.gone();
    expect(guard.reports).not.toContain('ended');
  });
});

describe.skipIf(!canTrace)('a guard that the command has traced', () => {
  it.concurrent.each([
    ...ways.filter(({ way }) => !way.includes('guard')),
    { way: 'a deadline', end: (guard: RealGuard) => guard.happens({ deadlines: [0, 20] }) },
  ])('does not keep the other one from ending it after $way', async ({ end }) => {
    const script = `read -r pid; exec perl "${seize}" "$pid"`;
    const guard = new RealGuard(['sh', '-c', `echo ready; ${script}`], { graceMs: 20 });
    await guard.ready();
    guard.process.stdin?.write(`${guard.innerPid}\n`);
    await guard.says(/seized/);
    await end(guard);
    await guard.gone();
  });

  it('is killed by the other one under a quota too', async () => {
    const { guard } = underQuota('echo ready; sleep 60', '50000');
    await guard.ready();
    const inner = guard.innerPid;
    const tracer = spawn('perl', [seize, String(inner)]);
    await once(tracer.stdout, 'data');
    guard.send('kill\n');
    await eventually('it has ended', () => !isAlive(inner));
    tracer.kill('SIGKILL');
    await guard.gone();
    expect(guard.reports.at(-1)).toBe('ended');
  });
});

describe('a late outer guard', () => {
  it('ends what an inner guard has left that died before it ran', async () => {
    const folder = mkdtempSync(join(scratchFolder(), 'late-'));
    const [source, file] = [join(folder, 'guard.c'), join(folder, 'redlock-guard')];
    const [start, late] = [
      '  settle();\n  if (is_outer)',
      '  if (is_outer) poll(NULL, 0, 1000);\n',
    ];
    const text = readFileSync(guardSource, 'utf8');
    expect(text).toContain(start);
    writeFileSync(source, text.replace(start, late + start));
    expect(compile(source, file, [])).toBeNull();
    const guard = new RealGuard(['sh', '-c', 'echo ready; sleep 60'], { file });
    await guard.ready();
    process.kill(guard.innerPid, 'SIGKILL');
    await guard.awaits('ended');
    expect(guard.survivors).toEqual([]);
    await guard.gone();
  });
});

describe('trees', () => {
  it.concurrent.each([...ways])(
    '400 children, half of them sessions, after $way',
    async ({ end }) => {
      const script =
        'trap "" TERM; n=0; while [ $n -lt 200 ]; do n=$((n+1)); ' +
        'sleep 120 & setsid sleep 120 & done; echo ready; wait; sleep 120';
      const guard = new RealGuard(['sh', '-c', script], { graceMs: 20 });
      await guard.ready();
      await end(guard);
      await guard.gone();
    },
  );

  it.skipIf(!hasPerl).concurrent.each([...ways])('chains of forks, after $way', async ({ end }) => {
    const guard = new RealGuard(['perl', chain, '2'], { graceMs: 20 });
    await guard.ready();
    await end(guard);
    await guard.gone();
  });

  it('both guards killed: neither reports that the tree has ended', async () => {
    const guard = new RealGuard(['sh', '-c', stubborn]);
    await guard.ready();
    process.kill(guard.innerPid, 'SIGKILL');
    process.kill(guard.pid, 'SIGKILL');
    await eventually('both have ended', () => !isAlive(guard.pid) && !isAlive(guard.innerPid));
    expect(guard.survivors).not.toEqual([]);
    expect(guard.reports).not.toContain('ended');
    guard.close();
  });
});

describe.skipIf(!canBecome)('a process of another user', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(scratchFolder(), 'foreign-'));
    chmodSync(scratchFolder(), 0o711);
    chmodSync(folder, 0o755);
    copyFileSync(guardFile(), join(folder, 'guard'));
    copyFileSync('/usr/bin/setpriv', join(folder, 'become-root'));
    chmodSync(join(folder, 'become-root'), 0o4755);
  });

  it('is reported with its pid, and the guards wait for it without spinning', async () => {
    const become = `"${folder}/become-root" --reuid=0 --regid=0 --clear-groups`;
    const script = `${become} sleep 120 & echo "pid $!"; sleep 0.2; echo ready; sleep 120`;
    const file = join(folder, 'guard');
    const through = ['setpriv', ...nobody];
    const guard = new RealGuard(['sh', '-c', script], { file, through });
    const [, pid] = await guard.says(/pid (\d+)/);
    await guard.ready();
    guard.send('kill\n');
    await guard.awaits('unkillable');
    expect(guard.reports).toContain(`unkillable ${pid}`);
    expect(guard.reports).not.toContain('ended');
    // A timer that has expired would wake the loop at once, again and again.
    expect(expiredTimers(guard.pid) + expiredTimers(guard.innerPid)).toBe(0);
    // A guard that looks more rarely is not stuck.
    await guard.happens({ passes: 500 });
    expect(isAlive(guard.innerPid)).toBe(true);
    process.kill(Number(pid), 'SIGKILL');
    await guard.awaits('ended');
    await guard.gone();
  });

  it('does not keep the guards once redlock-run has died', async () => {
    const become = `"${folder}/become-root" --reuid=0 --regid=0 --clear-groups`;
    const script = `${become} sleep 120 & echo "pid $!"; sleep 0.2; echo ready; sleep 120`;
    const file = join(folder, 'guard');
    const through = ['setpriv', ...nobody];
    const guard = new RealGuard(['sh', '-c', script], { file, through, graceMs: 0 });
    const [, pid] = await guard.says(/pid (\d+)/);
    await guard.ready();
    const inner = guard.innerPid;
    guard.abandon();
    await eventually('both have ended', () => !isAlive(guard.pid) && !isAlive(inner));
    expect(isAlive(Number(pid))).toBe(true);
    process.kill(Number(pid), 'SIGKILL');
    guard.close();
  });
});

/** The descriptors of timers that have expired and have not been read. */
function expiredTimers(pid: number): number {
  const texts = readdirSync(`/proc/${pid}/fdinfo`).map((fd) => procText(pid, `fdinfo/${fd}`));
  return texts.filter((text) => /^ticks: [1-9]/m.test(text)).length;
}
