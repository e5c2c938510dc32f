// The truth tables of the scripts of the older protocol on a real server, as truth-table.ts reads
// them, in milliseconds (`setnx-ms`); whole seconds are in the contract of a Master.
// docs/protocols.md tells why.
//
// A state: `us 5` is a time five seconds from now, with an owner key, and both expire a second
// later; `else 5` one of another run of ours; `them 5` one of another program, without owner key,
// that never expires; `moved 5` the same beside an owner key that names another time; `word` a
// key that holds no time, `word 5` one that expires; `seconds 5` theirs in seconds with a fraction;
// `owner` an owner key alone. A refusal names the holder, and for how long others keep away:
// `refused: them 6`.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Calls, type ScriptCall } from '../../src/redis/calls/script-calls.ts';
import { acquisitionOf, extensionOf, removalOf, repairOf } from '../../src/redis/replies.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { newClaim } from './rig.ts';
import { cellOf, rowsOf } from './truth-table.ts';

let master: TestMaster;
beforeAll(async () => {
  [master] = (await startMasters(1)) as [TestMaster];
});
beforeEach(() => master.flush());
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const calls = new Calls({ prefix: '', historyBytes: 0, protocol: 'setnx-ms' });
const ownerKey = '{k}:owner';
const run = ({ script, keys, args }: ScriptCall) =>
  master.command('eval', script, keys.length, ...keys, ...args);
/** In halves. */
const seconds = (ms: number | null) => (ms === null || ms === -1 ? '∞' : Math.round(ms / 500) / 2);
const claim = newClaim({ value: 'us', ttlMs: 30_000, resources: ['k'], isFenced: false });

/**
 * What each script is asked, and its answer; `holder` is what a person would name to break the
 * lock.
 */
const asks: Record<string, (holder: string) => Promise<string>> = {
  async acquire() {
    const reply = (await run(calls.toAcquire(claim))) as unknown[];
    const refusal = reply[0] === 1 ? null : acquisitionOf(reply, null);
    if (refusal?.kind !== 'refused') return 'granted';
    return `refused: ${await whose(refusal.holder)} ${seconds(refusal.remainingMs)}`;
  },
  extend: async () => extensionOf(await run(calls.toExtend(claim, null))).kind,
  repair: async () => repairOf(await run(calls.toRepair(claim, null))).kind,
  release: () => release('us', 0),
  keep: () => release('us', 9_000),
  async look() {
    const [[, type, , value, , leftMs] = []] = (await run(calls.toLook(['k']))) as [
      ...[string, string],
      ...[string, string | null],
      ...[string, number],
    ][];
    return value == null ? `${type}` : `${await whose(value)} ${seconds(leftMs ?? null)}`;
  },
  break: (holder) => release(holder, 0),
  async replace(holder) {
    const { kind } = removalOf(await run(calls.toExchange('k', holder, 'new')));
    return kind === 'released' ? 'replaced' : kind;
  },
};

async function release(value: string, keepMs: number): Promise<string> {
  const removal = { claim: { ...claim, value }, keepMs, line: null, keepsPosition: false };
  return removalOf(await run(calls.toRelease(removal))).kind;
}

/** A time that stands there without an owner key is theirs. */
async function whose(value: string): Promise<string> {
  return value === (await master.get('k').catch(() => null)) && value !== 'word' ? 'them' : value;
}

async function arrange(state: string): Promise<void> {
  const [who = '', end = ''] = state.split(' ');
  const endsAt = Date.now() + Number(end) * 1_000;
  const isOurs = who === 'us' || who === 'else';
  if (who === 'hash') await master.command('hset', 'k', 'field', 'x');
  else if (who === 'word')
    await master.command('set', 'k', 'word', ...(end === '' ? [] : ['px', Number(end) * 1_000]));
  else if (who === 'seconds')
    await master.command('set', 'k', `${(endsAt / 1_000).toFixed(3)}1234`);
  else if (end !== '')
    await master.command('set', 'k', endsAt, ...(isOurs ? ['pxat', endsAt + 1_000] : []));
  const lastsMs = Math.max(
    1,
    who === 'moved' || who === 'owner' ? 60_000 : endsAt + 1_000 - Date.now(),
  );
  const named = { us: endsAt, else: endsAt, moved: endsAt - 77, owner: 77 }[who];
  if (named !== undefined)
    await master.command('set', ownerKey, `${named} ${who === 'else' ? who : 'us'}`, 'px', lastsMs);
}

async function stateOf(): Promise<string> {
  const type = await master.command('type', 'k');
  const named = (await master.get(ownerKey)) ?? '';
  if (type === 'none') return named === '' ? '-' : 'owner';
  if (type !== 'string') return 'hash';
  const text = (await master.get('k')) as string;
  const [time, value = ''] = named.split(' ');
  const foreign = named === '' ? 'them' : 'moved';
  const owner = time === text ? value : foreign;
  const leftMs = Number(await master.command('pttl', 'k'));
  if (text === 'word')
    return [owner, text, seconds(leftMs)]
      .filter((word) => word !== 'them' && word !== '∞')
      .join(' ');
  const isInSeconds = text.includes('.');
  const endsInMs = Number(text) * (isInSeconds ? 1_000 : 1) - Date.now();
  const isLate = Math.abs(Number(await master.command('pttl', ownerKey)) - endsInMs - 1_000) > 100;
  const wrong = isLate && time === text ? ', and its owner key until another time' : '';
  return `${owner === 'them' && isInSeconds ? 'seconds' : owner} ${seconds(endsInMs)}${wrong}`;
}

/**
 * What a script makes of a state. Instants are told to half a second, so what took the machine
 * longer than a fifth of one says nothing, and is asked again.
 */
async function cellIn(before: string, script: string): Promise<string> {
  for (;;) {
    await master.flush();
    const beganAt = performance.now();
    await arrange(before);
    const arranged = await stateOf();
    const [who = ''] = before.split(' ');
    const holder = who === 'us' || who === 'else' ? who : await master.get('k').catch(() => null);
    const answer = (await asks[script]?.(holder ?? 'nobody')) ?? '';
    const cell = cellOf(answer, arranged, await stateOf());
    if (performance.now() - beganAt < 200) return cell;
  }
}

function check(table: string): void {
  test.each(rowsOf(table))('$before', async ({ before, cells }) => {
    const found: Record<string, string> = {};
    for (const script of Object.keys(cells)) found[script] = await cellIn(before, script);
    expect(found).toEqual(cells);
  });
}

describe('a run', () => {
  const table = `
    before       | acquire             | extend            | repair          | release       | keep
    -            | granted -> us 31    | missing           | taken           | missing       | missing
    us 5         | granted -> us 31    | extended -> us 31 | repaired -> us 31 | released -> - | released -> us 10
    us -0.5      | granted -> us 31    | extended -> us 31 | repaired -> us 31 | released -> - | released -> us 10
    else 5       | refused: else 6     | taken             | taken           | taken         | taken
    else -0.5    | refused: else 0.5   | taken             | taken           | taken         | taken
    them 5       | refused: them 6     | taken             | taken           | taken         | taken
    them -0.5    | refused: them 0.5   | taken             | taken           | taken         | taken
    them -1.5    | granted -> us 31    | taken             | taken           | taken         | taken
    moved 5      | refused: them 6     | taken             | taken           | taken         | taken
    moved -1.5   | granted -> us 31    | taken             | taken           | taken         | taken
    seconds 5    | refused: them 6     | taken             | taken           | taken         | taken
    seconds -0.5 | refused: them 0.5   | taken             | taken           | taken         | taken
    seconds -1.5 | granted -> us 31    | taken             | taken           | taken         | taken
    word         | refused: word ∞     | taken             | taken           | taken         | taken
    word 5       | refused: word 5     | taken             | taken           | taken         | taken
    hash         | refused: (a hash) ∞ | taken             | taken           | taken         | taken
    owner        | granted -> us 31    | missing           | taken           | missing       | missing
  `;
  check(table);
});

describe('a look, a break, and another value for the time that is left', () => {
  const table = `
    before       | look     | break         | replace
    -            | none     | missing       | missing
    us 5         | us 6     | released -> - | replaced -> new 5
    us -0.5      | us 0.5   | released -> - | replaced -> new -0.5
    else 5       | else 6   | released -> - | replaced -> new 5
    them 5       | them 6   | released -> - | replaced -> new 5
    them -0.5    | them 0.5 | released -> - | replaced -> new -0.5
    moved 5      | them 6   | released -> - | replaced -> new 5
    seconds 5    | them 6   | released -> - | replaced -> new 5
    word         | word ∞   | released -> - | replaced -> -
    word 5       | word 5   | released -> - | replaced -> new word 5
    hash         | hash     | taken         | taken
    owner        | none     | missing       | missing
  `;
  check(table);
  check(`
    before       | look | break
    them -1.5    | none | released -> -
    moved -1.5   | none | released -> -
    seconds -1.5 | none | released -> -
  `);
});

test('a number that is too large for a time is held as it is, without an end', async () => {
  const number = '1764000000000000000';
  await master.command('set', 'k', number);
  expect(await asks.acquire?.(number)).toBe('refused: them ∞');
  expect(await asks.look?.(number)).toBe('them ∞');
});
