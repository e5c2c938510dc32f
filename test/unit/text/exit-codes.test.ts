// The table of exit codes: each program lists every code that it exits with, once.

import { expect, it } from 'vitest';
import { exitCode, exitCodesOf } from '../../../src/text/errors.ts';

const told = (program: 'run' | 'ctl') => exitCodesOf(program).map(([code]) => code);
const without = (...names: readonly (keyof typeof exitCode)[]) =>
  Object.entries(exitCode)
    .filter(([name]) => !names.some((one) => one === name))
    .map(([, code]) => String(code));

it("lists every code of redlock-run, and that the others are the command's", () => {
  expect(told('run')).toEqual(['0-255', '128+N', ...without('ok', 'warnings')]);
});

it('lists every code of redlockctl, which runs no command', () => {
  const ofCommands = ['maxRun', 'notExecutable', 'notFound'] as const;
  expect(told('ctl')).toEqual([...without(...ofCommands), '128+N']);
});
