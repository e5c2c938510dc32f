// What is said of a server that does not begin to listen. The program runs, and ends at once; time
// is put forward instead of being waited for.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { startServer } from '../../../src/local/server.ts';

const root = mkdtempSync(join(tmpdir(), 'redlock-test-'));
afterAll(() => rmSync(root, { recursive: true }));

const silent = { path: 'true', argv0: 'true', environment: { PATH: process.env.PATH ?? '' } };

test.each([
  ['nothing', '', 'nothing heard in 5 s'],
  ['its last line', 'one\ntwo\n', 'nothing heard in 5 s; two'],
])('in five seconds, with %s in its log', async (_, logged, why) => {
  const log = join(root, 'm1.log');
  writeFileSync(log, 'of an earlier server\n');
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  onTestFinished(() => clock.mockRestore());
  const starting = startServer(silent, join(root, 'm1.sock'));
  appendFileSync(log, logged);
  aheadMs = 5_001;
  const message = `: the server did not start: ${why} (see ${log})`;
  await expect(starting).rejects.toMatchObject({ message: expect.stringContaining(message) });
});
