// `status --watch`: every second, in place on a terminal and one after the other in a pipe.

import { expect, test } from 'vitest';
import { takeBy, useMasters } from '../cli/rig.ts';
import { obstacle, Terminal } from '../supervision/terminal.ts';
import { startCtl } from './rig.ts';

const { masters } = useMasters(3);

test('in a pipe: one JSON object a line, each with the present state', async () => {
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
