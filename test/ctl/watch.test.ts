// `status --watch`: again every second, in place on a terminal and one after the other into a pipe; and what becomes of output that nobody reads.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { environmentFor, takeBy, useMasters } from '../cli/rig.ts';
import { obstacle, Terminal } from '../supervision/terminal.ts';
import { startCtl } from './rig.ts';

const { masters } = useMasters(3);
const program = fileURLToPath(new URL('../../bin/redlockctl.js', import.meta.url));

test('into a pipe: one JSON object a line, as things are by then', async () => {
  const run = startCtl(masters, ['status', 'deploy', '--watch', '--json']);
  await run.says('stdout', /"state":"free"/);
  await takeBy('them', masters, 'deploy');
  await run.says('stdout', /"state":"held"/);
  run.signal('SIGINT');
  expect((await run.result).signal).toBe('SIGINT');
  const states = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).locks[0].state);
  expect([...new Set(states)]).toEqual(['free', 'held']);
});

test('SIGUSR1 opens no inspector', async () => {
  const run = startCtl(masters, ['status', 'deploy', '--watch', '--json']);
  await run.says('stdout', /free/);
  run.signal('SIGUSR1');
  await run.says('stdout', /free.*\n.*free/);
  run.signal('SIGINT');
  expect(await run.result).toMatchObject({ signal: 'SIGINT', stderr: '' });
});

test.skipIf(obstacle !== null)('on a terminal: in place, also where lines are broken', async () => {
  const terminal = await Terminal.open(masters, 60);
  try {
    await takeBy('them', masters, 'deploy');
    await terminal.type('clear; echo above; ctl status deploy --watch');
    await terminal.shows(/lease ends in 5\d(\.\d)?s unless/);
    for (const master of masters) await master.command('del', 'redlock:deploy');
    const screen = await terminal.shows(/"deploy": free/);
    expect(screen).toMatch(/^above\n"deploy": free\n\nMASTER/);
    expect(screen).not.toMatch(/held/);
    await terminal.press('C-c');
    await terminal.shows(/prompt> *$/);
  } finally {
    await terminal.close();
  }
});

test('an output that cannot be written is no success', async () => {
  await takeBy('them', masters, 'deploy');
  const script = `'${process.execPath}' '${program}' list >/dev/full; echo "code $?"`;
  const env = { PATH: process.env.PATH, ...environmentFor(masters) };
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { env, encoding: 'utf8', timeout: 20_000 });
  expect({ stdout, stderr }).toEqual({
    stdout: 'code 74\n',
    stderr: 'redlockctl: output: cannot be written: ENOSPC\n',
  });
});

test('whoever has seen enough may leave', async () => {
  await masters[0]?.command('eval', "for i = 1, 5000 do redis.call('set', 'redlock:l' .. i, 'x') end", 0);
  const script = `'${process.execPath}' '${program}' list 2>&1 | head -n 2; echo "code \${PIPESTATUS[0]}"`;
  const env = { PATH: process.env.PATH, ...environmentFor(masters) };
  const { stdout } = spawnSync('bash', ['-c', script], { env, encoding: 'utf8', timeout: 20_000 });
  expect(stdout).toMatch(/^NAME .*\nl1 .*\ncode 74\n$/);
});
