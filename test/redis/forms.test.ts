// The truth tables of the scripts by the forms of a lock, on a real server, as truth-table.ts
// reads them: for one holder alone, for one that shares it, and for one on slot 1 of 2.
// scripts.test.ts has counters, queues and histories; wake-ups and waiters that give way are in
// the contract of a Master.
//
// How a state is written is told in states.ts. A refusal names the holder and its time: `refused:
// them 5`; and which slots are free. Two names: `first & second`.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Claim } from '../../src/lock/types.ts';
import { Calls, type ScriptCall } from '../../src/redis/calls/script-calls.ts';
import { acquisitionOf, extensionOf, removalOf, repairOf } from '../../src/redis/replies.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { newClaim } from './rig.ts';
import { arrange, seconds, stateIn, stateOf, wordOf } from './states.ts';
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

const calls = new Calls({ prefix: '', historyBytes: 0, protocol: 'redlock' });
const count = { before: 41, given: 50 };
const claimOf = (changes: Partial<Claim>) =>
  newClaim({ value: 'us', ttlMs: 30_000, resources: ['k'], ...changes });
const run = ({ script, keys, args }: ScriptCall) =>
  master.command('eval', script, keys.length, ...keys, ...args);

/** What each script is asked, and its answer in one word or more; the counter that it leaves. */
const asks: Record<string, (claim: Claim) => Promise<[answer: string, count: number]>> = {
  async acquire(claim) {
    const reply = (await run(calls.toAcquire(claim))) as unknown[];
    if (reply[0] === 1) return ['granted', count.before + 1];
    const refusal = acquisitionOf(reply, null);
    if (refusal.kind !== 'refused') return [refusal.kind, Number.NaN];
    const free = refusal.freeSlots ? `, free ${refusal.freeSlots}` : '';
    return [
      `refused: ${wordOf(refusal.holder)} ${seconds(refusal.remainingMs)}${free}`,
      count.before,
    ];
  },
  async extend(claim) {
    const { kind } = extensionOf(await run(calls.toExtend(claim, count.given)));
    return [kind, kind === 'extended' ? count.given : count.before];
  },
  async repair(claim) {
    const { kind } = repairOf(await run(calls.toRepair(claim, count.given)));
    return [kind, kind === 'repaired' ? count.given : count.before];
  },
  release: (claim) => release(claim, 0),
  keep: (claim) => release(claim, 9_000),
  async look({ resources }) {
    const sights = (await run(calls.toLook(resources))) as unknown[][];
    const told = sights.map(([, type, , value, , leftMs, , , , , , members]) =>
      stateIn([type, value, leftMs], members as string[]),
    );
    return [told.join(' & '), count.before];
  },
};

async function release(claim: Claim, keepMs: number): Promise<[answer: string, count: number]> {
  const removal = { claim, keepMs, line: null, keepsPosition: false };
  return [removalOf(await run(calls.toRelease(removal))).kind, count.before];
}

/** Where a key has holders beside it, both end at the same time. '': they do. */
async function endsApart(key: string): Promise<string> {
  if (!/^(shared|slots )/.test((await master.get(key)) ?? '')) return '';
  const [keyMs, besideMs] = [
    await master.command('pttl', key),
    await master.command('pttl', `{${key}}:holders`),
  ].map(Number) as [number, number];
  return Math.abs(keyMs - besideMs) < 100 ? '' : `key in ${keyMs} ms, holders in ${besideMs} ms`;
}

function check(table: string, changes: Partial<Claim>): void {
  test.each(rowsOf(table))('$before', async ({ before, cells }) => {
    const keys = ['k', 'l'].slice(0, before.split(' & ').length);
    const states = async () =>
      (await Promise.all(keys.map((key) => stateOf(master, key)))).join(' & ');
    const found: Record<string, string> = {};
    for (const script of Object.keys(cells)) {
      await master.flush();
      for (const [index, key] of keys.entries()) {
        await master.command('set', `{${key}}:fence`, count.before);
        await arrange(master, before.split(' & ')[index] as string, key);
      }
      const arranged = await states();
      const [answer = '', countAfter] =
        (await asks[script]?.(claimOf({ ...changes, resources: keys }))) ?? [];
      found[script] = cellOf(answer, arranged, await states());
      for (const key of keys)
        expect(await master.get(`{${key}}:fence`), `${script}: count`).toBe(String(countAfter));
      if (!/^(granted|extended|repaired|released)$/.test(answer)) continue;
      for (const key of keys)
        expect(await endsApart(key), `${script}: the holders outlive the key, or it them`).toBe('');
    }
    expect(found).toEqual(cells);
  });
}

describe('one that holds it alone', () => {
  const table = `
    before              | acquire                       | extend            | repair                   | release
    -                   | granted -> us 30              | missing           | repaired -> us 30        | missing
    us 5                | granted -> us 30              | extended -> us 30 | repaired -> us 30        | released -> -
    them 5              | refused: them 5               | taken             | taken                    | taken
    us ∞                | granted -> us 30              | extended -> us 30 | repaired -> us 30        | released -> -
    them ∞              | refused: them ∞               | taken             | taken                    | taken
    them 0              | granted -> us 30              | missing           | repaired -> us 30        | missing
    hash                | refused: (a hash) ∞           | taken             | taken                    | taken
    shared 5 (us 5)     | refused: shared 5             | taken             | taken                    | taken
    shared 5 (them 5)   | refused: shared 5             | taken             | taken                    | taken
    shared 5 (them -1)  | refused: shared 5             | taken             | taken                    | taken
    shared ∞ (them 5)   | refused: shared ∞             | taken             | taken                    | taken
    slots2 5 (us@1 5)   | refused: slots2 5             | taken             | taken                    | taken
    slots2 5 (them@2 5) | refused: slots2 5             | taken             | taken                    | taken
    (us 5)              | granted -> us 30              | missing           | repaired -> us 30 (us 5) | missing
    (them 5)            | granted -> us 30              | missing           | repaired -> us 30 (them 5) | missing
  `;
  check(table, {});
  // The same by the whole scripts, which have more to ask.
  check(table, { preemptible: 'supersede' });
});

describe('one that shares it', () => {
  const table = `
    before                    | acquire                               | extend                                 | repair                               | release
    -                         | granted -> shared 30 (us 30)          | missing                                | repaired -> shared 30 (us 30)        | missing
    us 5                      | refused: us 5                         | taken                                  | taken                                | taken
    them 5                    | refused: them 5                       | taken                                  | taken                                | taken
    them ∞                    | refused: them ∞                       | taken                                  | taken                                | taken
    them 0                    | granted -> shared 30 (us 30)          | missing                                | repaired -> shared 30 (us 30)        | missing
    hash                      | refused: (a hash) ∞                   | taken                                  | taken                                | taken
    shared 5 (us 5)           | granted -> shared 30 (us 30)          | extended -> shared 30 (us 30)          | repaired -> shared 30 (us 30)        | released -> -
    shared 5 (them 5)         | granted -> shared 30 (them 5, us 30)  | missing                                | repaired -> shared 30 (them 5, us 30) | missing
    shared 5 (us 3, them 5)   | granted -> shared 30 (them 5, us 30)  | extended -> shared 30 (them 5, us 30)  | repaired -> shared 30 (them 5, us 30) | released -> shared 5 (them 5)
    shared 5 (them 3, us 5)   | granted -> shared 30 (them 3, us 30)  | extended -> shared 30 (them 3, us 30)  | repaired -> shared 30 (them 3, us 30) | released -> shared 3 (them 3)
    shared 60 (us 5, them 60) | granted -> shared 60 (us 30, them 60) | extended -> shared 60 (us 30, them 60) | repaired -> shared 60 (us 30, them 60) | released -> shared 60 (them 60)
    shared 5 (us -1, them 5)  | granted -> shared 30 (them 5, us 30)  | missing -> shared 5 (them 5)           | repaired -> shared 30 (them 5, us 30) | missing -> shared 5 (them 5)
    shared 5 (them -1, us 5)  | granted -> shared 30 (us 30)          | extended -> shared 30 (us 30)          | repaired -> shared 30 (us 30)        | released -> -
    shared 5 (them -1)        | granted -> shared 30 (us 30)          | missing -> shared 5                    | repaired -> shared 30 (us 30)        | missing -> shared 5
    shared 5                  | granted -> shared 30 (us 30)          | missing                                | repaired -> shared 30 (us 30)        | missing
    shared ∞ (us 5)           | granted -> shared 30 (us 30)          | extended -> shared 30 (us 30)          | repaired -> shared 30 (us 30)        | released -> -
    shared ∞ (them 5)         | granted -> shared 30 (them 5, us 30)  | missing                                | repaired -> shared 30 (them 5, us 30) | missing
    shared 0 (them 5)         | granted -> shared 30 (us 30)          | missing                                | repaired -> shared 30 (us 30)        | missing
    slots2 5 (us@1 5)         | refused: slots2 5                     | taken                                  | taken                                | taken
    slots2 5 (them@2 5)       | refused: slots2 5                     | taken                                  | taken                                | taken
    (us 5)                    | granted -> shared 30 (us 30)          | missing                                | repaired -> shared 30 (us 30)        | missing
    (them 5)                  | granted -> shared 30 (us 30)          | missing                                | repaired -> shared 30 (us 30)        | missing
  `;
  check(table, { sharing: { kind: 'shared' } });
});

describe('one on slot 1 of 2', () => {
  const table = `
    before                         | acquire                                   | extend                                     | repair                                   | release
    -                              | granted -> slots2 30 (us@1 30)            | missing                                    | repaired -> slots2 30 (us@1 30)          | missing
    us 5                           | refused: us 5                             | taken                                      | taken                                    | taken
    them 5                         | refused: them 5                           | taken                                      | taken                                    | taken
    them ∞                         | refused: them ∞                           | taken                                      | taken                                    | taken
    them 0                         | granted -> slots2 30 (us@1 30)            | missing                                    | repaired -> slots2 30 (us@1 30)          | missing
    hash                           | refused: (a hash) ∞                       | taken                                      | taken                                    | taken
    shared 5 (us 5)                | refused: shared 5                         | taken                                      | taken                                    | taken
    shared 5 (them 5)              | refused: shared 5                         | taken                                      | taken                                    | taken
    slots2 5 (us@1 5)              | granted -> slots2 30 (us@1 30)            | extended -> slots2 30 (us@1 30)            | repaired -> slots2 30 (us@1 30)          | released -> -
    slots2 5 (them@1 5)            | refused: slots2 0, free 2                 | taken                                      | taken                                    | taken
    slots2 5 (them@2 5)            | granted -> slots2 30 (them@2 5, us@1 30)  | missing                                    | repaired -> slots2 30 (them@2 5, us@1 30) | missing
    slots2 5 (us@1 3, them@2 5)    | granted -> slots2 30 (them@2 5, us@1 30)  | extended -> slots2 30 (them@2 5, us@1 30)  | repaired -> slots2 30 (them@2 5, us@1 30) | released -> slots2 5 (them@2 5)
    slots2 60 (us@1 5, them@2 60)  | granted -> slots2 60 (us@1 30, them@2 60) | extended -> slots2 60 (us@1 30, them@2 60) | repaired -> slots2 60 (us@1 30, them@2 60) | released -> slots2 60 (them@2 60)
    slots2 5 (them@2 3, them@1 5)  | refused: slots2 3                         | taken                                      | taken                                    | taken
    slots2 5 (us@1 -1, them@2 5)   | granted -> slots2 30 (them@2 5, us@1 30)  | missing -> slots2 5 (them@2 5)             | repaired -> slots2 30 (them@2 5, us@1 30) | missing -> slots2 5 (them@2 5)
    slots2 5 (them@1 -1, them@2 5) | granted -> slots2 30 (them@2 5, us@1 30)  | missing -> slots2 5 (them@2 5)             | repaired -> slots2 30 (them@2 5, us@1 30) | missing -> slots2 5 (them@2 5)
    slots2 5 (them@1 -1)           | granted -> slots2 30 (us@1 30)            | missing -> slots2 5                        | repaired -> slots2 30 (us@1 30)          | missing -> slots2 5
    slots2 5                       | granted -> slots2 30 (us@1 30)            | missing                                    | repaired -> slots2 30 (us@1 30)          | missing
    slots2 ∞ (us@1 5)              | granted -> slots2 30 (us@1 30)            | extended -> slots2 30 (us@1 30)            | repaired -> slots2 30 (us@1 30)          | released -> -
    slots2 0 (them@1 5)            | granted -> slots2 30 (us@1 30)            | missing                                    | repaired -> slots2 30 (us@1 30)          | missing
    slots3 5 (us@1 5)              | refused: slots3 5                         | taken                                      | taken                                    | taken
    slots3 5 (them@2 5)            | refused: slots3 5                         | taken                                      | taken                                    | taken
    (us@1 5)                       | granted -> slots2 30 (us@1 30)            | missing                                    | repaired -> slots2 30 (us@1 30)          | missing
    (them@1 5)                     | granted -> slots2 30 (us@1 30)            | missing                                    | repaired -> slots2 30 (us@1 30)          | missing
  `;
  check(table, { sharing: { kind: 'slots', slotCount: 2, slot: 1 } });
});

describe('one on slot 3 of 2, which there is not', () => {
  const table = `
    before                        | acquire                     | repair
    -                             | refused: slots2 0, free 1,2 | taken
    slots2 5 (them@1 5)           | refused: slots2 0, free 2   | taken
    slots2 5 (us@3 5)             | refused: slots2 0, free 1,2 | taken
    slots2 5 (they@1 5, them@2 5) | refused: slots2 5           | taken
  `;
  check(table, { sharing: { kind: 'slots', slotCount: 2, slot: 3 } });
});

describe('two names: all or none', () => {
  const table = `
    before                | acquire                  | extend                    | repair                  | release
    - & -                 | granted -> us 30 & us 30 | missing                   | repaired -> us 30 & us 30 | missing
    us 5 & us 5           | granted -> us 30 & us 30 | extended -> us 30 & us 30 | repaired -> us 30 & us 30 | released -> - & -
    us 5 & -              | granted -> us 30 & us 30 | missing                   | repaired -> us 30 & us 30 | released -> - & -
    - & us 5              | granted -> us 30 & us 30 | missing                   | repaired -> us 30 & us 30 | released -> - & -
    us 5 & them 5         | refused: them 5          | taken                     | taken                   | released -> - & them 5
    them 5 & us 5         | refused: them 5          | taken                     | taken                   | released -> them 5 & -
    - & them 5            | refused: them 5          | taken                     | taken                   | taken
    them 5 & -            | refused: them 5          | taken                     | taken                   | taken
    them 3 & them 5       | refused: them 5          | taken                     | taken                   | taken
    - & shared 5 (them 5) | refused: shared 5        | taken                     | taken                   | taken
    - & hash              | refused: (a hash) ∞      | taken                     | taken                   | taken
  `;
  check(table, {});
});

describe('two names that are shared', () => {
  const table = `
    before                   | acquire                                                  | extend | repair                                                  | release
    - & -                    | granted -> shared 30 (us 30) & shared 30 (us 30)         | missing | repaired -> shared 30 (us 30) & shared 30 (us 30)       | missing
    - & shared 5 (them 5)    | granted -> shared 30 (us 30) & shared 30 (them 5, us 30) | missing | repaired -> shared 30 (us 30) & shared 30 (them 5, us 30) | missing
    shared 5 (us 5) & -      | granted -> shared 30 (us 30) & shared 30 (us 30)         | missing | repaired -> shared 30 (us 30) & shared 30 (us 30)       | released -> - & -
    shared 5 (us 5) & them 5 | refused: them 5                                          | taken  | taken                                                   | released -> - & them 5
    - & them 5               | refused: them 5                                          | taken  | taken                                                   | taken
  `;
  check(table, { sharing: { kind: 'shared' } });
});

describe('a release that keeps others away for nine seconds', () => {
  const alone = `
    before | keep
    -      | missing
    us 5   | released -> us 9
    us ∞   | released -> us 9
    them 5 | taken
    hash   | taken
  `;
  check(alone, {});
  check(alone, { preemptible: 'supersede' });
  const shared = `
    before                    | keep
    shared 5 (us 5)           | released -> shared 9 (us 9)
    shared 5 (us 3, them 5)   | released -> shared 9 (them 5, us 9)
    shared 20 (us 5, them 20) | released -> shared 20 (us 9, them 20)
    shared 5 (them 5)         | missing
    slots2 5 (us@1 5)         | taken
  `;
  check(shared, { sharing: { kind: 'shared' } });
  const slots = `
    before                        | keep
    slots2 5 (us@1 5)             | released -> slots2 9 (us@1 9)
    slots2 20 (us@1 5, them@2 20) | released -> slots2 20 (us@1 9, them@2 20)
    slots2 5 (them@1 5)           | taken
    slots2 5 (them@2 5)           | missing
  `;
  check(slots, { sharing: { kind: 'slots', slotCount: 2, slot: 1 } });
});

describe('a look', () => {
  const table = `
    before                      | look
    -                           | -
    us 5                        | us 5
    them ∞                      | them ∞
    them 0                      | -
    hash                        | hash
    shared 5 (them 3, us 5)     | shared 5 (them 3, us 5)
    shared 5 (them -1, us 5)    | shared 5 (us 5)
    shared 5                    | shared 5
    shared ∞ (us 5)             | shared ∞ (us 5)
    slots2 5 (them@2 3, us@1 5) | slots2 5 (them@2 3, us@1 5)
    us 5 (them 5)               | us 5
    (them 5)                    | -
    - & shared 5 (us 5)         | - & shared 5 (us 5)
  `;
  check(table, {});
});
