// Requests to a living holder: which messages count, and when.

import { describe, expect, it } from 'vitest';
import { parseAct, renderAct } from '../../../src/lock/history.ts';
import {
  HolderChannel,
  type HolderRequest,
  parseRequest,
  type RequestKind,
  renderRequest,
} from '../../../src/lock/people.ts';
import type { Master } from '../../../src/lock/ports.ts';
import { alone } from '../../../src/lock/types.ts';

const by = { user: 'ops', host: 'web1', pid: 1, note: 'why' };
const message = (kind: RequestKind, { id = 'i', token = 't' } = {}) =>
  renderRequest({ kind, id, token, by });

/** The channel of the holder with token `t`: what it is sent by each master, and what counts. */
function channelOn(masterCount: number) {
  const own = { resources: ['x'], token: 't', value: 'v', ttlMs: 1, isFenced: false, waiter: null };
  const counted: HolderRequest[] = [];
  const receive: ((message: string) => void)[] = [];
  const masters = Array.from({ length: masterCount }, (): Partial<Master> => {
    return {
      subscribe: async (_, __, onMessage) => {
        receive.push(onMessage);
        return { close: () => {} };
      },
    };
  });
  new HolderChannel(masters as Master[], { ...alone, ...own }, (one) => counted.push(one));
  return { counted, send: (at: number, text: string) => receive[at]?.(text) };
}

describe('a request to stop', () => {
  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
  ])('of %d masters counts once %d have passed it on', (masterCount, quorum) => {
    const { counted, send } = channelOn(masterCount);
    for (let at = 0; at < masterCount; at += 1) {
      send(at, message('stop'));
      expect(counted.length).toBe(at + 1 < quorum ? 0 : 1);
    }
  });

  it('does not count for what one master repeats', () => {
    const { counted, send } = channelOn(3);
    for (let count = 0; count < 5; count += 1) send(1, message('stop'));
    expect(counted).toEqual([]);
  });

  it('does not count where masters pass on different ones', () => {
    const { counted, send } = channelOn(3);
    send(1, message('stop', { id: 'one' }));
    send(2, message('stop', { id: 'two' }));
    expect(counted).toEqual([]);
    send(2, message('stop', { id: 'one' }));
    expect(counted).toMatchObject([{ id: 'one', by }]);
  });

  it('does not count for another holder', () => {
    const { counted, send } = channelOn(1);
    send(0, message('stop', { token: 'of another' }));
    expect(counted).toEqual([]);
  });
});

it('a broken lock is looked for at the first message, once', () => {
  const { counted, send } = channelOn(3);
  send(1, message('broken'));
  send(2, message('broken'));
  expect(counted).toMatchObject([{ kind: 'broken', by }]);
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
