// The libraries that read the file are loaded only when there is a file with something in it: cron pays for them every minute.

import { expect, it, vi } from 'vitest';
import { settle } from './scratch.ts';

vi.mock('yaml', () => {
  throw new Error('yaml was loaded');
});
vi.mock('valibot', () => {
  throw new Error('valibot was loaded');
});

it.each([{}, { file: '' }, { file: '\n' }, { environment: { REDLOCK_TTL: '1m' } }])(
  'loads nothing for %j',
  async (scene) => {
    expect((await settle({ ...scene, flags: ['--local'] })).local).toBe(true);
  },
);

it('loads them for a file that says something', async () => {
  await expect(settle({ file: 'local: true' })).rejects.toThrow();
});
