// The command line of `npm run sim`. A typo must never look like a proof that found nothing.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseArguments } from './arguments.ts';
import { fairNames, hostileNames } from './profiles.ts';

const parsed = (line: string) => parseArguments(line.split(' ').filter((word) => word !== ''));

describe('what is meant', () => {
  it.each([
    ['', { profile: fairNames, seed: 1, runs: 1 }],
    ['--profile hostile --seed 7 --runs 20', { profile: hostileNames, seed: 7, runs: 20 }],
    ['--profile lossy --seed 0 --log', { profile: ['lossy'], seed: 0, log: true }],
    ['--mutant no-drift', { mutant: 'no-drift' }],
    ['--mutants', { mutants: true }],
    ['--share 1/2', { share: { index: 1, count: 2 } }],
  ])('%s', (line, wanted) => expect(parsed(line)).toMatchObject(wanted));
});

describe('what cannot be meant is one line that names it, and 64', () => {
  it.each([
    ['--seed abc', /'abc'.*whole number/],
    ['--seed', /--seed/],
    ['--seed 1.5', /'1\.5'.*whole number/],
    ['--runs 0', /'0'.*1 or more/],
    ['--runs -3', /'-3'.*1 or more/],
    ['--profile nonsense', /'nonsense'.*--help/],
    ['--mutant nonsense', /'nonsense'.*test\/README\.md/],
    ['--sed 1', /unknown option '--sed'/],
    ['lossy', /too many arguments/],
    ['--log --runs 2', /--log.*one run/],
  ])('%s', (line, reason) => {
    const told = parsed(line);
    expect(told).toEqual({ exitCode: 64, text: expect.stringMatching(reason) });
    expect(told).toHaveProperty('text', expect.stringMatching(/^sim: [^\n]*\n$/));
  });
});

it('--help names every option and every profile', () => {
  const told = parsed('--help');
  expect(told).toMatchObject({
    exitCode: 0,
    text: expect.stringMatching(/^Usage: npm run sim -- \[options\]\n/),
  });
  for (const word of [
    '--seed',
    '--runs',
    '--profile',
    '--log',
    '--mutant',
    '--mutants',
    '--pictures',
    ...fairNames,
    ...hostileNames,
  ]) {
    expect(told).toHaveProperty('text', expect.stringContaining(word));
  }
});

it.each([
  ['--seed abc', 64, /^$/, /^sim: .*\n$/],
  ['--help', 0, /^Usage: /, /^$/],
] as const)('npm run sim -- %s', (args, status, stdout, stderr) => {
  const script = join(import.meta.dirname, '../../scripts/simulator.js');
  const ended = spawnSync(process.execPath, [script, 'main.js', ...args.split(' ')], {
    encoding: 'utf8',
  });
  // A slow machine prints this while the simulator compiles.
  const complaint = ended.stderr.replace(/^.*compiling \.\.\.\n/, '');
  expect({ ...ended, complaint }).toMatchObject({
    status,
    stdout: expect.stringMatching(stdout),
    complaint: expect.stringMatching(stderr),
  });
});
