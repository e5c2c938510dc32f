// A name that another client has chosen, in a command that is meant to be copied.

import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { asArgument } from '../../../src/ctl/names.ts';

it.each(['deploy', 'two words', '$(echo no)', '`echo no`', "it's $HOME", 'a"b$c', 'x!y', 'a;b|c'])(
  'a shell reads %j as it is',
  (name) => {
    const script = `printf %s ${asArgument(name)}`;
    expect(execFileSync('sh', ['-c', script], { encoding: 'utf8' })).toBe(name);
  },
);

it('a name that looks like a pattern is marked as a name', () => {
  expect(asArgument('deploy-*')).toBe('"deploy-*" --literal');
});
