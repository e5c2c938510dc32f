// Requests to a living holder: which messages count, and when.

import { describe, expect, it } from 'vitest';
import { parseAct, renderAct } from '../../../src/lock/history.ts';
import {
  HolderRequests,
  parseRequest,
  type RequestKind,
  renderRequest,
} from '../../../src/lock/people.ts';

const by = { user: 'ops', host: 'web1', pid: 1, note: 'why' };
const message = (kind: RequestKind, { id = 'i', token = 't' } = {}) =>
  renderRequest({ kind, id, token, by });

describe('a request to stop', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
  ])('of %d masters counts once %d have passed it on', (masterCount, quorum) => {
    const requests = new HolderRequests('t', masterCount);
    const counted = Array.from({ length: masterCount }, (_, at) =>
      requests.receive(`m${at}`, message('stop')),
    );
    expect(counted.map((one) => one !== null)).toEqual(counted.map((_, at) => at + 1 === quorum));
  });

  it('does not count for what one master repeats', () => {
    const requests = new HolderRequests('t', 3);
    for (let count = 0; count < 5; count += 1)
      expect(requests.receive('m1', message('stop'))).toBe(null);
  });

  it('does not count where masters pass on different ones', () => {
    const requests = new HolderRequests('t', 3);
    expect(requests.receive('m1', message('stop', { id: 'one' }))).toBe(null);
    expect(requests.receive('m2', message('stop', { id: 'two' }))).toBe(null);
    expect(requests.receive('m2', message('stop', { id: 'one' }))).toMatchObject({ by });
  });

  it('does not count for another holder', () => {
    const requests = new HolderRequests('t', 1);
    expect(requests.receive('m1', message('stop', { token: 'of another' }))).toBe(null);
  });
});

it('a broken lock is looked for at the first message, once', () => {
  const requests = new HolderRequests('t', 3);
  expect(requests.receive('m1', message('broken'))).toMatchObject({ kind: 'broken', by });
  expect(requests.receive('m2', message('broken'))).toBe(null);
});

it.each([
  '',
  '{}',
  'null',
  '[]',
  '1',
  'x'.repeat(5_000),
  message('stop').replace('"v":1', '"v":2'),
])('no request: %j', (text) => expect(parseRequest(text)).toBe(null));

it('what is read is bounded', () => {
  const long = 'x'.repeat(1_000);
  const person = { user: long, host: long, pid: 1, note: long };
  const text = JSON.stringify({ v: 1, kind: 'stop', id: 'i', token: 't', by: person });
  const read = parseRequest(text)?.by;
  expect([read?.user.length, read?.host.length, read?.note?.length]).toEqual([80, 80, 200]);
});

describe('an act in the history', () => {
  const act = { kind: 'break', id: 'i', by, token: 't' } as const;

  it('is read as it was written', () => expect(parseAct(renderAct(act))).toEqual(act));

  it.each(['', '{}', 'null', renderAct(act).replace('break', 'brake')])('is not %j', (line) =>
    expect(parseAct(line)).toBe(null),
  );
});
