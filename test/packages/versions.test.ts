// This version beside the last release, on the same masters: they exclude each other and wait in
// one queue. PREVIOUS_RELEASE is the path of redlock-run of the last release; without it nothing is
// tested here, because there is none yet.

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { environmentFor, locksOn, program, untilNothingIsLeft, useMasters } from '../cli/rig.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const previous = process.env.PREVIOUS_RELEASE ?? '';
const { masters } = useMasters(3);

describe.runIf(previous !== '')('this version and the last release', () => {
  test('the last release is another version', async () => {
    const versions = [previous, program].map((file) => promisify(execFile)(file, ['--version']));
    const [theirs, ours] = await Promise.all(versions);
    expect(theirs?.stdout).not.toBe(ours?.stdout);
  });

  const env = () => ({ PATH: process.env.PATH, ...environmentFor(masters) });
  const isLocked = async () => {
    for (const master of masters) if ((await locksOn(master)).length > 0) return true;
    return false;
  };
  const waiting = () =>
    Promise.all(
      masters.map(async (master) => Number(await master.command('zcard', '{redlock:job}:queue'))),
    );

  test.each(['this one', 'the last release'])(
    '%s holds, and both wait in one queue, in the order of arrival',
    async (first) => {
      const order = first === 'this one' ? [program, previous] : [previous, program];
      const [holder = '', other = ''] = order;
      const child = spawn(holder, ['job', '--', 'cat'], { env: env(), stdio: 'pipe' });
      await eventually('a lock', isLocked);
      const busy = promisify(execFile)(other, ['-n', 'job', '--', 'true'], { env: env() });
      await expect(busy).rejects.toMatchObject({ code: 75 });

      const ran = join(mkdtempSync(join(scratchFolder(), 'order-')), 'ran');
      const waiters: Promise<unknown>[] = [];
      for (const [at, file] of [other, holder, other].entries()) {
        const words = ['job', '-c', `echo ${at} >>'${ran}'`];
        waiters.push(promisify(execFile)(file, words, { env: env() }));
        await eventually('a waiter', async () => (await waiting()).every((count) => count > at));
      }
      child.stdin.end();
      await Promise.all(waiters);
      expect(readFileSync(ran, 'utf8')).toBe('0\n1\n2\n');
      await untilNothingIsLeft(masters);
    },
  );
});
