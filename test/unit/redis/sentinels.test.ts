// What a sentinel may name as the place of a primary.

import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { openMaster } from '../../../src/redis/connection/sentinels.ts';
import { createPlainClock } from '../../../src/system/clock.ts';

test.each([
  ['65536', /: an unexpected reply to SENTINEL/],
  ['99999', /: an unexpected reply to SENTINEL/],
  ['1', /its primary 127\.0\.0\.1:1: connection refused/],
])('port %s: %s', async (named, why) => {
  const reply = `*2\r\n$9\r\n127.0.0.1\r\n$${named.length}\r\n${named}\r\n`;
  const server = createServer((socket) => socket.once('data', () => socket.write(reply)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const sentinels = { hosts: [{ host: '127.0.0.1', port }], primary: 'm' };
  const opened = await openMaster(
    { name: 'm', db: 0, sentinels },
    createPlainClock(),
    1_024,
    false,
  );
  server.close();
  expect(opened).toMatchObject({ kind: 'failed', message: expect.stringMatching(why) });
});
