// The library that reads the file is loaded only for a file with text in it.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const settle = async (scene: object) => (await import('./scratch.ts')).settle(scene);

// Other files of this process may have loaded it, and others may need it afterwards.
beforeAll(() => {
  vi.resetModules();
  vi.doMock('yaml', () => {
    throw new Error('yaml was loaded');
  });
});
afterAll(() => {
  vi.doUnmock('yaml');
  vi.resetModules();
});

it.each([{}, { file: '' }, { file: '\n' }, { environment: { REDLOCK_TTL: '1m' } }])(
  'loads nothing for %j',
  async (scene) => {
    expect((await settle({ ...scene, flags: ['--local'] })).local).toBe(true);
  },
);

it('loads it for a file with text in it', async () => {
  await expect(settle({ file: 'local: true' })).rejects.toThrow();
});
