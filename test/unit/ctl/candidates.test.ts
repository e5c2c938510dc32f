// The candidates that completion offers for the last word.

import { expect, it } from 'vitest';
import { optionTable } from '../../../src/config/setting-table.ts';
import { candidatesFor } from '../../../src/ctl/completion.ts';
import { verbNames, verbTable } from '../../../src/ctl/verb-table.ts';

const args = (program: string, ...typed: string[]) => {
  const found = candidatesFor(program, typed);
  return typeof found === 'string' ? found : found.map(({ word }) => word);
};

it.each<[string[], readonly string[] | string]>([
  [[''], verbNames],
  [['status', ''], 'names'],
  [['status', 'a', ''], 'names'],
  [['break', ''], 'names'],
  [['break', 'a', ''], []],
  [['stop', ''], 'names'],
  [['freeze', ''], 'names'],
  [['thaw', ''], 'names'],
  [['list', ''], 'names'],
  [
    ['local', ''],
    ['start', 'stop', 'status'],
  ],
  [
    ['completion', ''],
    ['bash', 'zsh', 'fish'],
  ],
  [['help', ''], verbNames],
  [['help', 'status', ''], []],
  [['acquire', ''], 'names'],
  [['check', ''], 'names'],
  [['completion', 'bash', ''], []],
  [['--config', ''], 'files'],
  [['history', '--html', ''], 'files'],
  [['--master', 'redis://h', 'status', ''], 'names'],
  [['status', '--', '-'], 'names'],
  [['doctor', ''], []],
  [['nonsense', ''], []],
])('redlockctl %j: %j', (typed, expected) => {
  expect(args('redlockctl', ...typed)).toEqual(expected);
});

it.each<[string[], readonly string[] | string]>([
  [[''], 'names'],
  [['--ttl', '30s', ''], 'names'],
  [['-n', ''], 'names'],
  [
    ['--log-format', ''],
    ['text', 'json'],
  ],
  [
    ['--hold-on', ''],
    ['success', 'always'],
  ],
  [['--ttl', ''], []],
  [['job', ''], 'commands'],
  [['job', 'ls', ''], 'files'],
  [['job', '--', ''], 'commands'],
  [['a', 'b', '--', ''], 'commands'],
  [['job', '--', '-'], 'commands'],
  [['job', '--', 'ls', ''], 'files'],
  [['--config', ''], 'files'],
])('redlock-run %j: %j', (typed, expected) => {
  expect(args('redlock-run', ...typed)).toEqual(expected);
});

it('every option of redlock-run, and of each verb its own', () => {
  expect(args('redlock-run', '--')).toEqual(optionTable.map(({ long }) => long));
  for (const { verb, options } of verbTable) {
    expect(args('redlockctl', verb, '--')).toEqual(
      expect.arrayContaining(options.map(({ long }) => long)),
    );
  }
  expect(args('redlockctl', 'acl', '--')).not.toContain('--yes');
});
