// The decisions of guard.c, compiled by themselves: see decisions.c.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { compile, sanitizerFlags } from './build.ts';

it(
  'guard.c decides as its tables say, whatever comes, and however it is cut',
  () => {
    const program = join(scratchFolder(), 'decisions');
    const flags = [...sanitizerFlags(), '-O1', '-Wno-unused-function'];
    expect(compile(`${import.meta.dirname}/decisions.c`, program, flags)).toBe(null);
    const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' };
    const { status, stdout, stderr } = spawnSync(program, { encoding: 'utf8', env });
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: '' });
  },
  generous(60_000),
);
