// The start of a command: what it inherits, what is reported where it cannot be started, and what
// the guards keep of it.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  writeFileSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { procText } from '../servers/proc.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { guardFile } from './build.ts';
import { closeAll, RealGuard } from './real-guard.ts';

const mayRunFirst = spawnSync('nice', ['-n', '-40', 'nice']).stdout?.toString() === '-20\n';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(scratchFolder(), 'start-'));
  mkdirSync(join(folder, 'first'));
  for (const [name, mode, text] of [
    ['plain', 0o644, '#!/bin/sh\n'],
    ['bare', 0o755, 'echo "bare $0 $1"\n'],
    ['no-interpreter', 0o755, '#!/no/such/file\n'],
    ['first/both', 0o644, ''],
    ['both', 0o755, '#!/bin/sh\necho second\n'],
  ] as const) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  }
  copyFileSync('/bin/sleep', join(folder, 'busy'));
  chmodSync(join(folder, 'busy'), 0o755);
});
afterAll(closeAll);

async function reportsOf(command: readonly string[], env?: NodeJS.ProcessEnv): Promise<string[]> {
  const guard = new RealGuard(command, env ? { env } : {});
  await guard.gone();
  return [...guard.reports, guard.output].map((text) => text.replace(/^(started) \d+$/, '$1'));
}

describe('the start of a command', () => {
  it.concurrent.each([
    { title: 'no such file', name: '/no/such/file', error: 2 },
    { title: 'no such name on the PATH', name: 'no-such-command', error: 2 },
    { title: 'an empty name', name: '', error: 2 },
    { title: 'a file in a file', name: '/dev/null/x', error: 20 },
    { title: 'not executable', name: 'plain', error: 13 },
    { title: 'not executable on the PATH', name: 'PATH:plain', error: 13 },
    { title: 'a folder', name: '.', error: 13 },
    { title: 'its interpreter is missing', name: 'no-interpreter', error: 2 },
  ])('is reported as failed: $title', async ({ name, error }) => {
    const file = ['plain', 'no-interpreter'].includes(name) ? join(folder, name) : name;
    const env = { PATH: name.startsWith('PATH:') ? folder : '/bin:/usr/bin' };
    const reports = await reportsOf([file.replace('PATH:', '')], env);
    expect(reports).toEqual([`failed ${error}`, 'ended', '']);
  });

  it('is reported as failed while the file is open for writing', async () => {
    const writer = openSync(join(folder, 'busy'), constants.O_WRONLY);
    const reports = await reportsOf([join(folder, 'busy'), '0']);
    closeSync(writer);
    expect(reports).toEqual(['failed 26', 'ended', '']);
  });

  it('gives a script without an interpreter line to /bin/sh', async () => {
    const file = join(folder, 'bare');
    expect(await reportsOf([file, 'word'])).toEqual([
      'started',
      'exited 0 0',
      'ended',
      `bare ${file} word\n`,
    ]);
  });

  it('goes on to the next folder of the PATH where a file is not executable', async () => {
    const env = { PATH: `${folder}/first:${folder}:/bin` };
    expect((await reportsOf(['both'], env)).at(-1)).toBe('second\n');
  });

  it('takes the PATH from the environment, and not from an argument', async () => {
    const reports = await reportsOf(['echo', `PATH=${folder}/first`], { HOME: '/' });
    expect(reports.at(-1)).toBe(`PATH=${folder}/first\n`);
  });

  it('passes on arguments and environment unchanged', async () => {
    const words = ['', 'two words', '--', '-x', 'ä\n', '*'];
    const script = 'for word; do printf "[%s]" "$word"; done; printf "%s" "$ODD"';
    const reports = await reportsOf(['sh', '-c', script, 'sh', ...words], {
      ...process.env,
      ODD: 'a=b\nc',
    });
    expect(reports.at(-1)).toBe(`${words.map((word) => `[${word}]`).join('')}a=b\nc`);
  });

  it('blocks no signal, ignores none, and opens no descriptor for the command', async () => {
    const script =
      'grep -E "^Sig(Blk|Ign)" /proc/self/status; ' +
      'for fd in 0 1 2 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$fd ] || echo $fd; done';
    const reports = await reportsOf(['sh', '-c', script]);
    expect(reports.at(-1)?.replace(/[:\s]+/g, ' ')).toMatch(/^SigBlk 0{16} SigIgn 0{16} 0 1 2 $/);
  });
});

describe('the guards of a command', () => {
  it('show neither its arguments nor its environment', async () => {
    const guard = new RealGuard(['sh', '-c', 'echo ready; read -r line', 'secret-word']);
    await guard.ready();
    for (const pid of [guard.pid, guard.innerPid]) {
      expect(procText(pid, 'cmdline').replace(/\0+$/, '')).toBe('redlock-guard');
      expect(procText(pid, 'environ').replace(/\0+/g, '')).toBe('');
    }
    expect(procText(Number(guard.reports[0]?.split(' ')[1]), 'cmdline')).toContain('secret-word');
    guard.send('kill\n');
    await guard.gone();
  });

  it('keep no stream open: a pipeline ends with the command', async () => {
    const script = 'sleep 120 </dev/null >/dev/null 2>&1 & echo done';
    const guard = new RealGuard(['sh', '-c', script]);
    await once(guard.stdout, 'end');
    expect(guard.reports).not.toContain('ended');
    expect(guard.survivors).not.toEqual([]);
    guard.send('kill\n');
    await guard.gone();
    expect(guard.reports).toContain('exited 0 1');
  });

  it.each([
    { own: 0, expected: 500 },
    { own: 100, expected: 100 },
  ])(
    'have an oom_score_adj of $own, and the command one of $expected',
    async ({ own, expected }) => {
      const script = 'cat /proc/self/oom_score_adj; read -r line';
      const set = 'echo "$0" >/proc/self/oom_score_adj && exec "$@"';
      const through = own === 0 ? [] : ['sh', '-c', set, String(own)];
      const guard = new RealGuard(['sh', '-c', script], { through });
      const [, value] = await guard.says(/(\d+)\n/);
      const initial = Number(procText(process.pid, 'oom_score_adj'));
      const raised = initial === 0 || own > 0 ? expected : initial;
      expect(Number(value)).toBe(raised);
      for (const pid of [guard.pid, guard.innerPid])
        expect(Number(procText(pid, 'oom_score_adj'))).toBe(own || initial);
      guard.send('kill\n');
      await guard.gone();
    },
  );

  it('run first where that is allowed, and leave the command its priority', async () => {
    const through = ['nice', '-n', '5'];
    const guard = new RealGuard(['sh', '-c', 'nice; read -r line'], { through });
    const [, own] = await guard.says(/(-?\d+)\n/);
    const priority = Number(own);
    expect(priority).toBe(Math.min(19, getPriority() + 5));
    const guards = [guard.pid, guard.innerPid];
    const expected = mayRunFirst ? -20 : priority;
    await eventually('set', () => guards.every((pid) => getPriority(pid) === expected));
    guard.send('kill\n');
    await guard.gone();
  });

  it('report the end on all three clocks, and what is left', async () => {
    const guard = new RealGuard(['sh', '-c', 'sleep 120 & kill -9 $$']);
    await guard.awaits('signaled');
    guard.send('kill\n');
    await guard.gone();
    expect(guard.exits).toEqual([expect.stringMatching(/^signaled 9 1 \d{9,},\d{9,},\d{18,}$/)]);
  });
});

describe('redlock-guard without a command', () => {
  const status = (...words: string[]) => spawnSync(guardFile(), words, { timeout: 30_000 }).status;
  const at = '1,1,1';

  it.each([
    [],
    ['--protocol=1', '--signal=15', at, at, '--'],
    ['--protocol=1', '--signal=15', at, at, 'true', 'true'],
    ['--protocol=1', '--signal=15', '1,1', at, '--', 'true'],
    ['--protocol=1', '--signal=15', at, '-,-,-', '--', 'true'],
    ['--protocol=1', '--signal=15', `${at}x`, at, '--', 'true'],
    ['--signal=0', at, at, '--', 'true'],
    ['--signal=65', at, at, '--', 'true'],
    ['--signal=x', at, at, '--', 'true'],
    [at, at, '--', 'true'],
    ['--unknown', '--signal=15', at, at, '--', 'true'],
  ])('refuses %j %j %j %j %j', (...words) => {
    expect(status(...words)).toBe(64);
  });

  it('tries out what a run needs with --check', () => {
    expect(status('--check')).toBe(0);
  });

  it.each([true, false])('--until-hung-up ends when stderr is hung up: %s', async (isHungUp) => {
    const pipe = join(folder, `pipe-${isHungUp}`);
    const { reader, writer } = openPipe(pipe);
    const watch = spawn(guardFile(), ['--until-hung-up'], {
      stdio: ['ignore', 'ignore', writer, 'pipe'],
    });
    const ended = once(watch, 'exit');
    if (!isHungUp) (watch.stdio[3] as Socket).destroy();
    else closeSync(reader);
    expect(await ended).toEqual([isHungUp ? 10 : 0, null]);
    closeSync(writer);
    if (!isHungUp) closeSync(reader);
  });

  it.each([true, false])('--unless-hung-up starts nothing when hung up: %s', async (isHungUp) => {
    const { reader, writer } = openPipe(join(folder, `stderr-${isHungUp}`));
    if (isHungUp) closeSync(reader);
    const options = ['--unless-hung-up'];
    const guard = new RealGuard(['echo', 'started'], { options, stderr: writer });
    await guard.gone();
    closeSync(writer);
    if (!isHungUp) closeSync(reader);
    expect(guard.output).toBe(isHungUp ? '' : 'started\n');
    expect(guard.reports.includes('hung-up')).toBe(isHungUp);
  });

  it('--unless-hung-up never takes /dev/null for hung up', async () => {
    const through = ['sh', '-c', 'exec "$@" 2>/dev/null', 'sh'];
    const guard = new RealGuard(['echo', 'started'], { options: ['--unless-hung-up'], through });
    await guard.gone();
    expect(guard.output).toBe('started\n');
  });
});

/** Both ends of a named pipe. */
function openPipe(path: string): { readonly reader: number; readonly writer: number } {
  spawnSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  return { reader, writer: openSync(path, constants.O_WRONLY) };
}
