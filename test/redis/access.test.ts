// Which server may vote at all: users, passwords, rights and databases, as a server checks them.
// What is refused is refused for good and says so; what is allowed is allowed for every call alike,
// also on a new connection.

import { afterAll, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { acquireAt, failed, handleOn, lasting, newClaim } from './rig.ts';

afterAll(async () => {
  await stopAll();
  nothingLeft();
});

async function oneMaster(config: Record<string, string | string[]> = {}): Promise<TestMaster> {
  const [master] = await startMasters(1, { config });
  return master as TestMaster;
}

const acl = { requirepass: 's e/c:r@t%', user: ['job', 'on', '>p w', '~*', '&*', '+@all'] };
const withLogin = (url: string, login: string) => url.replace('://', `://${login}@`);
const encoded = encodeURIComponent(acl.requirepass);

test.each([
  ['no password', '', /^NOAUTH |unauthenticated multibulk/],
  ['a wrong password', ':wrong@', /^WRONGPASS /],
  ['a user that there is not', 'nobody:wrong@', /^WRONGPASS /],
  ['a wrong password of a user', 'job:wrong@', /^WRONGPASS /],
])('%s: denied', async (_title, login, message) => {
  const master = await oneMaster(acl);
  expect(await acquireAt(master.url.replace('://', `://${login}`))).toEqual(
    failed('denied', message),
  );
  expect(await master.keys()).toEqual([]);
});

test('rights that do not suffice: denied, with what is missing', async () => {
  const user = (name: string, ...rights: string[]) => [name, 'on', 'nopass', ...rights];
  for (const [rights, message] of [
    [['~*', '+@all', '-eval'], /^NOPERM .*eval/],
    [['~*', '+@all', '-set'], /can't run this command|NOPERM|ACL failure in script/],
    [['~other:*', '+@all'], /^NOPERM .*key/],
  ] as const) {
    const master = await oneMaster({ user: user('job', ...rights) });
    expect(await acquireAt(withLogin(master.url, 'job:x'))).toEqual(failed('denied', message));
    expect(await master.keys()).toEqual([]);
  }
});

test('without a right to the key of the history: released, without its line', async () => {
  const helpers = ['fence', 'queue', 'waiters', 'holders', 'freeze'];
  const keys = ['~r', ...helpers.map((name) => `~{r}:${name}`)];
  const master = await oneMaster({ user: ['job', 'on', 'nopass', ...keys, '&*', '+@all'] });
  const handle = handleOn(withLogin(master.url, 'job:x'));
  const claim = newClaim();
  expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
  expect(await handle.release(claim, 0, 'line')).toEqual({ kind: 'released' });
  expect(await master.keys()).toEqual(['{r}:fence']);
});

test('without the right to name a script by its digest: every question is answered', async () => {
  const master = await oneMaster({
    user: ['job', 'on', 'nopass', '~*', '&*', '+@all', '-evalsha'],
  });
  const handle = handleOn(withLogin(master.url, 'job:x'));
  const ask = async () => (await handle.extend(newClaim(), null, lasting)).kind;
  expect([await ask(), await ask(), await ask(), await ask()]).toEqual([
    'missing',
    'missing',
    'missing',
    'missing',
  ]);
  handle.close();
});

test('a database that there is not: a failure that says so', async () => {
  const master = await oneMaster();
  expect(await acquireAt(`${master.url}?db=99`)).toEqual(
    failed('denied', /DB index is out of range/),
  );
  const guarded = await oneMaster({ requirepass: 'x' });
  expect(await acquireAt(`${withLogin(guarded.url, ':wrong')}?db=1`)).toMatchObject({
    kind: 'failed',
    cause: 'denied',
  });
});

test('a password that the server does not ask for is no trouble', async () => {
  const master = await oneMaster();
  expect(await acquireAt(withLogin(master.url, ':unasked'))).toMatchObject({ kind: 'granted' });
});

test.each([
  ['a password', `:${encoded}`, ''],
  ['a user', 'job:p%20w', ''],
  ['a database', `:${encoded}`, '?db=3'],
  ['a user and a database', 'job:p%20w', '?db=3'],
])(
  '18. %s: the same for acquire, extend, heal and release, and after a new connection (H19)',
  async (_title, login, query) => {
    const master = await oneMaster(acl);
    const db = Number(query.slice('?db='.length));
    const look = `redis.call('select', ${db}) return redis.call('get', 'p:r')`;
    const handle = handleOn(withLogin(master.url, login) + query, { prefix: 'p:' });
    const claim = newClaim();
    expect(await handle.acquire(claim, lasting)).toMatchObject({ kind: 'granted' });
    expect(await master.command('eval', look, 0)).toBe(claim.value);
    await master.command('client', 'kill', 'type', 'normal', 'skipme', 'yes');
    await eventually(
      'extended',
      async () => (await handle.extend(claim, null, lasting)).kind === 'extended',
    );
    expect(await handle.repair(claim, null, lasting)).toEqual({ kind: 'repaired' });
    expect(await handle.release(claim, 0, null)).toEqual({ kind: 'released' });
    expect(await master.command('eval', look, 0)).toBeNull();
    if (db !== 0) expect(await master.keys()).toEqual([]);
  },
);
