// The last line of a run that found no quorum names every master that failed, each with the most
// telling cause of the whole wait and what to do about it, never with words of a library.

import { afterEach, expect, test } from 'vitest';
import { type TestMaster, useMasters } from './rig.ts';

const { masters, run } = useMasters(3, { transport: 'tcp' });

const usual: readonly (readonly [key: string, value: string])[] = [
  ['requirepass', ''],
  ['maxclients', '100'], // A server may not have room for more where few files may be open.
];
afterEach(async () => {
  for (const master of masters.filter(({ isRunning }) => isRunning))
    for (const setting of usual) await master.command('config', 'set', ...setting);
});

/** What is said of each master at the end, in their order. */
async function causes(urls: readonly string[], args: readonly string[], code = 69) {
  const env = { REDLOCK_MASTERS: urls.join(',') };
  const { code: given, stderr } = await run([...args, 'job', '--', 'true'], { env });
  expect(given).toBe(code);
  expect(stderr).not.toMatch(/Stream isn't|Connection is closed|enableOfflineQueue|Error:/);
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  expect(last).toMatch(/^redlock-run: no quorum: "job": /);
  return urls.map((url) => {
    const [, rest = null] = last.split(`${url.replace(/\/\/:.*@/, '//***@')}: `);
    return rest?.split(/; rediss?:\/\//)[0] ?? null;
  });
}

const refused = 'connection refused (start the server, or correct its address)';
const [nowhere, alsoNowhere, nowhereEither] = [1, 2, 3].map((port) => `redis://127.0.0.1:${port}`);
const dead = nowhere as string;
const urlOf = (at: number) => (masters[at] as TestMaster).url;

test.each([[['-n']], [['-w', '300ms']]])(
  'three that are down, %j: all three are named',
  async (args) => {
    const urls = [nowhere, alsoNowhere, nowhereEither] as string[];
    expect(await causes(urls, args)).toEqual([refused, refused, refused]);
  },
);

test('a login that is missing, beside one that is down', async () => {
  await masters[1]?.command('config', 'set', 'requirepass', 'secret');
  expect(await causes([dead, urlOf(1), urlOf(2)], ['-w', '2s'])).toEqual([
    refused,
    'NOAUTH Authentication required. (set passwordFile)',
    null,
  ]);
});

test('a password that is wrong, beside one that is down', async () => {
  await masters[1]?.command('config', 'set', 'requirepass', 'secret');
  const wrong = urlOf(1).replace('//', '//:wrong@');
  expect(await causes([dead, wrong, urlOf(2)], ['-w', '2s'])).toEqual([
    refused,
    expect.stringMatching(/^WRONGPASS .* \(check the user and the password\)$/),
    null,
  ]);
});

test('a server without room for another client', async () => {
  await masters[1]?.command('config', 'set', 'maxclients', 1);
  expect(await causes([dead, urlOf(1), urlOf(2)], ['-w', '2s'])).toEqual([
    refused,
    'ERR max number of clients reached (raise its maxclients)',
    null,
  ]);
});

test('TLS to a server that speaks none', async () => {
  const tls = urlOf(1).replace('redis:', 'rediss:');
  const [, why] = await causes([dead, tls, urlOf(2)], ['-w', '3s']);
  expect(why).toMatch(/write redis:\/\//);
});
