// Waiters and holders that give way to a newer one: the waiters leave the queue for it, the holders
// are asked to release. The server is in good health here.
//
// *Note:* both sides must be preemptible: a waiter or holder that is not keeps its position and its
// lock.

import { describe, expect } from 'vitest';
import type { Claim, Preemptible } from '../../src/lock/types.ts';
import { holderIdOf } from '../../src/lock/waiter-id.ts';
import {
  ask,
  claimOf,
  type Declare,
  earOf,
  granted,
  lasting,
  sharedOf,
  slotOf,
  testsOn,
  untilCalled,
  type World,
  waiting,
} from './world.ts';

const waiter = (value: string, preemptible: Preemptible) =>
  waiting(claimOf(value, { preemptible }));
const idOf = (claim: Claim) => claim.waiter?.id;

export function preemption(world: World): void {
  const it = testsOn(world);

  describe('a waiter that is superseded', () => {
    superseded(it);
    leaving(it);
  });
  describe('a holder that gives way', () => replaced(it));
}

function superseded(it: Declare): void {
  it('is woken and told of a newer one, and has no position any more', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    const older = waiter('a', 'supersede');
    const newer = waiter('b', 'supersede');
    const { subscription, count } = await earOf(server, older);
    expect(await ask(server, older)).toMatchObject({ kind: 'refused', position: 0 });
    expect(await ask(server, newer)).toMatchObject({ kind: 'refused', position: 0 });
    await untilCalled(server, count);
    expect(await ask(server, older)).toMatchObject({
      kind: 'refused',
      position: null,
      supersededBy: idOf(newer),
    });
    expect(await ask(server, newer)).toMatchObject({ kind: 'refused', position: 0 });
    subscription.close();
  });

  it('is told by the newest of several, and the others are, too', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    for (const value of ['a', 'b', 'c']) await ask(server, waiter(value, 'supersede'));
    const by = idOf(waiter('c', 'supersede'));
    for (const value of ['a', 'b'])
      expect(await ask(server, waiter(value, 'supersede'))).toMatchObject({ supersededBy: by });
    const reply = await ask(server, waiter('c', 'supersede'));
    expect(reply).not.toHaveProperty('supersededBy');
  });

  it('is told also when the newer one has been granted it meanwhile', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    const [older, newer] = [waiter('a', 'supersede'), waiter('b', 'supersede')];
    await ask(server, older);
    await master.release(claimOf('x'), 0, null);
    const holder = server.handle();
    expect(await holder.acquire(newer, lasting)).toEqual(granted);
    expect(await ask(server, older)).toMatchObject({
      kind: 'refused',
      position: null,
      supersededBy: idOf(newer),
    });
    await holder.release(newer, 0, null);
    expect(await ask(server, older)).toMatchObject({
      kind: 'refused',
      supersededBy: idOf(newer),
    });
    await server.pass(3_100);
    expect(await ask(server, older)).toEqual(granted);
  });
}

/** What a waiter that is superseded does to the queues, its own and others. */
function leaving(it: Declare): void {
  it('gives way only to its like, and takes no other position', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    const stubborn = waiting(claimOf('b'));
    const { subscription, count } = await earOf(server, stubborn);
    await ask(server, waiter('a', 'supersede'));
    expect(await ask(server, stubborn)).toMatchObject({ position: 1 });
    expect(await ask(server, waiter('c', 'supersede'))).toMatchObject({ position: 1 });
    expect(await ask(server, stubborn)).toMatchObject({ position: 0 });
    // It is news to it that it is the first.
    await untilCalled(server, count);
    subscription.close();
  });

  it('that was first in another queue as well: the next is woken', async (server, master) => {
    await master.acquire(claimOf('x', { resources: ['s'] }), lasting);
    const older = waiting(claimOf('a', { resources: ['r', 's'], preemptible: 'supersede' }));
    const next = waiting(claimOf('b'));
    const { subscription, count } = await earOf(server, next);
    await ask(server, older);
    await ask(server, next);
    await ask(server, waiting(claimOf('c', { resources: ['s'], preemptible: 'supersede' })));
    expect(await ask(server, older)).toMatchObject({ position: null });
    await untilCalled(server, count);
    expect(await ask(server, next)).toEqual(granted);
    subscription.close();
  });

  it('gives way in the queues of all its resources', async (server, master) => {
    const both = { resources: ['r', 's'] };
    await master.acquire(claimOf('x', both), lasting);
    const older = waiting(claimOf('a', { ...both, preemptible: 'supersede' }));
    await ask(server, older);
    await ask(server, waiter('b', 'supersede'));
    expect(await ask(server, older)).toMatchObject({
      position: null,
      supersededBy: idOf(waiter('b', 'supersede')),
    });
    const other = waiting(claimOf('c', { resources: ['s'] }));
    expect(await ask(server, other)).toMatchObject({ position: 0 });
  });

  it('takes no position of one of the same instant, one way only', async (server, master) => {
    await master.acquire(claimOf('x'), lasting);
    const twins = ['a', 'b'].map((value) => {
      const claim = waiter(value, 'supersede');
      return { ...claim, waiter: { id: idOf(claim) ?? '', arrivalUs: 7 } };
    }) as [Claim, Claim];
    for (const twin of twins) await ask(server, twin);
    expect(await ask(server, twins[0])).toMatchObject({ supersededBy: idOf(twins[1]) });
    expect(await ask(server, twins[1])).not.toHaveProperty('supersededBy');
  });
}

function replaced(it: Declare): void {
  const asHolder = (claim: Claim): Claim => ({
    ...claim,
    waiter: { id: holderIdOf(claim.value), arrivalUs: 0 },
  });
  const extended = { kind: 'extended', masterTimeMs: expect.any(Number) };

  it('is woken when a newer one wants the lock, and told which', async (server, master) => {
    const holder = claimOf('x', { preemptible: 'replace' });
    await master.acquire(holder, lasting);
    expect(await master.extend(holder, null, lasting)).toEqual(extended);
    const { subscription, count } = await earOf(server, asHolder(holder));
    await ask(server, waiter('b', 'replace'));
    await untilCalled(server, count);
    expect(await master.extend(holder, null, lasting)).toEqual({
      ...extended,
      replacedBy: idOf(waiter('b', 'replace')),
    });
    subscription.close();
  });

  it('is told of no plain waiter; one that stays is told of none', async (server, master) => {
    const holder = claimOf('x', { preemptible: 'replace' });
    await master.acquire(holder, lasting);
    for (const other of [waiting(claimOf('a')), waiter('b', 'supersede')]) await ask(server, other);
    expect(await master.extend(holder, null, lasting)).toEqual(extended);
    await ask(server, waiter('c', 'replace'));
    const stubborn = claimOf('x', { preemptible: 'supersede' });
    expect(await master.extend(stubborn, null, lasting)).toEqual(extended);
  });

  it('is told of none that came before it', async (server, master) => {
    await server.write('r', 'them', 60_000);
    await ask(server, waiter('a', 'replace'));
    await server.remove('r');
    const holder = waiter('b', 'replace');
    expect(await master.acquire(holder, lasting)).toEqual(granted);
    await server.pass(3_100);
    expect(await ask(server, waiter('a', 'replace'))).toMatchObject({
      kind: 'refused',
      position: 0,
    });
    expect(await master.extend(holder, null, lasting)).toEqual(extended);
  });

  it('of several that share: each is told of an exclusive claim only', async (server, master) => {
    const claims = ['x', 'y'].map((value) => sharedOf(value, { preemptible: 'replace' }));
    for (const claim of claims) await master.acquire(claim, lasting);
    await ask(server, waiting(claimOf('a')));
    await ask(server, waiting(sharedOf('b', { preemptible: 'replace' })));
    for (const claim of claims) expect(await master.extend(claim, null, lasting)).toEqual(extended);
    await ask(server, waiter('c', 'replace'));
    for (const claim of claims) {
      expect(await master.extend(claim, null, lasting)).toMatchObject({
        replacedBy: idOf(waiter('c', 'replace')),
      });
    }
  });

  it('of all on slots: the first alone is told, when all are taken', async (server, master) => {
    const claims = [1, 2].map((slot) =>
      slotOf(`x${slot}`, slot, 2, { preemptible: 'replace' }),
    ) as [Claim, Claim];
    for (const claim of claims) await master.acquire(claim, lasting);
    const newer = waiting(slotOf('a', 1, 2, { preemptible: 'replace' }));
    await ask(server, newer);
    expect(await master.extend(claims[1], null, lasting)).toEqual(extended);
    expect(await master.extend(claims[0], null, lasting)).toMatchObject({
      replacedBy: idOf(newer),
    });
    await master.release(claims[1], 0, null);
    expect(await master.extend(claims[0], null, lasting)).toEqual(extended);
  });
}
