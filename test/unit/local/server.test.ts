// What is reported of a server that does not begin to listen: the program runs, and only sleeps or
// ends. Time is put forward instead of being waited for.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { startServer } from '../../../src/local/start-missing.ts';
import { isAlive } from '../../servers/processes.ts';

const root = mkdtempSync(join(tmpdir(), 'redlock-test-'));
afterAll(() => rmSync(root, { recursive: true }));

function programOf(script: string) {
  const path = join(root, 'server');
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { path, argv0: 'server', environment: { PATH: process.env.PATH ?? '' } };
}

const log = join(root, 'm1.log');

test('it ends: the last line that it wrote, not that of an earlier server', async () => {
  writeFileSync(log, 'of an earlier server\n');
  const starting = (script: string) => startServer(programOf(script), join(root, 'm1.sock'));
  await expect(starting('echo one; echo two >&2')).rejects.toMatchObject({
    message: expect.stringContaining(`: the server did not start: two (see ${log})`),
  });
  await expect(starting('exit 3')).rejects.toMatchObject({
    message: expect.stringContaining(': the server did not start: exit code 3 (see '),
  });
});

test('it ends later, when its log is gone: nothing is read', async () => {
  const socket = join(root, 'm2.sock');
  const listens = `require("net").createServer().listen(${JSON.stringify(socket)})`;
  const { path, argv0, environment } = programOf(`echo $$; exec "$NODE" -e '${listens}'`);
  const env = { ...environment, NODE: process.execPath };
  await startServer({ path, argv0, environment: env }, socket);
  const log = join(root, 'm2.log');
  const pid = Number(readFileSync(log, 'utf8'));
  rmSync(log);
  process.kill(pid, 'SIGKILL');
  await vi.waitUntil(() => !isAlive(pid));
  await new Promise((resolve) => setImmediate(resolve));
});

test('it does not listen within five seconds: it is killed', async () => {
  writeFileSync(log, '');
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  onTestFinished(() => clock.mockRestore());
  const starting = startServer(programOf('echo $$; exec sleep 60'), join(root, 'm1.sock'));
  starting.catch(() => {});
  await vi.waitUntil(() => readFileSync(log, 'utf8') !== '');
  aheadMs = 5_001;
  const message = ': the server did not start: nothing heard in 5 s (see ';
  await expect(starting).rejects.toMatchObject({ message: expect.stringContaining(message) });
  await vi.waitUntil(() => !isAlive(Number(readFileSync(log, 'utf8'))));
});
