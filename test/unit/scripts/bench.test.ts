// The command line of `npm run bench`, which is read before anything is installed or compiled.

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';

const script = path.resolve(import.meta.dirname, '../../../scripts/bench.js');
const usage = 'npm run bench -- [all|NAME...] [--json FILE] [--plot] [--from FILE]';

test.each([
  [['--help'], 0, `Usage: ${usage}\nNames: startup, `, ''],
  [['--jsno'], 64, '', `(usage: ${usage})\n`],
  [['startpu'], 64, '', 'redlock-run: bench: startpu: no such benchmark (write startup, '],
])('%j exits with %i and one line', (args, code, said, complaint) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
  });
  expect([status, stderr.split('\n').length]).toEqual([code, code === 0 ? 1 : 2]);
  expect(stdout).toContain(said);
  expect(stderr).toContain(complaint);
});
