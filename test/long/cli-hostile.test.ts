// A run that waits beside one master that answers anything to a subscriber: it waits, and acquires
// the lock, as if that master were down.

import { expect, test } from 'vitest';
import { environmentFor, locksOn, useMasters } from '../cli/rig.ts';
import { behind, refusal, startHostile, strangeReplies } from '../servers/hostile-master.ts';

const { masters, run } = useMasters(2);

/** Few at a time, because each is a program of its own. */
const names = Object.keys(strangeReplies);
const groups = Array.from({ length: 7 }, (_, nth) => names.filter((_, index) => index % 7 === nth));

test.each(groups)('%s; %s; %s; %s', async (...group) => {
  await Promise.all(
    group.map(async (name) => {
      const bytes = strangeReplies[name];
      const hostile = await startHostile(
        behind((args) => (/^eval$/i.test(args[0] ?? '') ? refusal() : bytes || '+OK\r\n')),
      );
      const env = environmentFor([hostile, ...masters]);
      for (const master of masters)
        await master.command('set', `redlock:${name}`, 'another', 'px', 60_000);
      const busy = await run(['-w', '2s', name, '--', 'true'], { env });
      expect([name, busy.code, busy.stderr]).toEqual([
        name,
        75,
        expect.stringMatching(/^redlock-run: .*held/m),
      ]);
      for (const master of masters) await master.command('pexpire', `redlock:${name}`, 1_500);
      const free = await run(['-w', '20s', name, '--', 'echo', 'ran'], { env });
      expect([name, free.code, free.stdout]).toEqual([name, 0, 'ran\n']);
    }),
  );
  expect(await Promise.all(masters.map(locksOn))).toEqual([[], []]);
});
