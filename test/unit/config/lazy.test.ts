// The libraries that read the file are loaded only for a file with text in it.

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

it('loads them for a file with text in it', async () => {
  await expect(settle({ file: 'local: true' })).rejects.toThrow();
});
