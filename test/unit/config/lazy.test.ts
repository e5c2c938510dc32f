// The libraries that read the file are loaded only for a file with text in it.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';

const libraries = ['yaml', 'valibot'];
const settle = async (scene: object) => (await import('./scratch.ts')).settle(scene);

// Other files of this process may have loaded them, and others may need them afterwards.
beforeAll(() => {
  vi.resetModules();
  for (const name of libraries) {
    vi.doMock(name, () => {
      throw new Error(`${name} was loaded`);
    });
  }
});
afterAll(() => {
  for (const name of libraries) vi.doUnmock(name);
  vi.resetModules();
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
