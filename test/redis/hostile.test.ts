// A master that answers what no script of ours answers: every such reply is a vote that was not
// given, with a reason on one printable line; a minority of such masters changes nothing, and costs
// no memory.

import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chanceOf, fuzzedReply, sendInPieces } from '../servers/fuzzed-replies.ts';
import {
  behind,
  bulk,
  grant,
  list,
  refusal,
  startHostile,
  strangeReplies,
  toScripts,
} from '../servers/hostile-master.ts';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { eventually } from '../servers/processes.ts';
import { failed, handleOn, lasting, newClaim, redlockOn, untilNothingIsLeft } from './rig.ts';

let masters: TestMaster[] = [];
beforeAll(async () => {
  masters = await startMasters(2);
});
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

type Answer = Parameters<typeof toScripts>[0];
const hostileMaster = (answer: Answer) => startHostile(toScripts(answer));

const time = [':1700000000\r\n', ':5\r\n'];
/** The end of a refusal: no newer waiter, no free slots, one name. */
const alone = [bulk(''), list(), ':0\r\n'];
/** Complete replies, none of which any script of ours gives. */
const nonsense: Readonly<Record<string, string>> = {
  nil: '$-1\r\n',
  'a nil list': '*-1\r\n',
  'an integer': ':7\r\n',
  'a negative integer': ':-7\r\n',
  'an integer beyond 2^53': ':9007199254740993\r\n',
  'an integer beyond 2^63': ':99999999999999999999\r\n',
  OK: '+OK\r\n',
  'empty text': '$0\r\n\r\n',
  text: bulk('granted'),
  'the number in text': bulk('1'),
  'an empty list': '*0\r\n',
  'a list of nil': list('$-1\r\n'),
  'a list of lists': list(list(), list()),
  'a code that there is not': list(':2\r\n', ':5\r\n'),
  'a code in text': list(bulk('1'), ':5\r\n'),
  'granted, and nothing': list(':1\r\n'),
  'granted, and text': list(':1\r\n', bulk('5')),
  'granted, and nil': list(':1\r\n', '$-1\r\n'),
  'granted, and a negative fence': grant(-1),
  'granted, and a fence beyond 2^53': grant('9000000000000000000'),
  'granted, and a fence of the year 3000': grant(32_503_680_000_000_000),
  'granted, and too much': list(
    ':1\r\n',
    ':5\r\n',
    ':5\r\n',
    ':5\r\n',
    ':5\r\n',
    ':5\r\n',
    ':5\r\n',
  ),
  'refused by nothing': list(':0\r\n', '$-1\r\n', ':5\r\n', ':-1\r\n', ...time, ...alone),
  'refused by a number': list(':0\r\n', ':5\r\n', ':5\r\n', ':-1\r\n', ...time, ...alone),
  'refused by text that is too long': list(
    ':0\r\n',
    bulk('x'.repeat(5_000)),
    ':5\r\n',
    ':-1\r\n',
    ...time,
    ...alone,
  ),
  'refused for text': list(':0\r\n', bulk('x'), bulk('5'), ':-1\r\n', ...time, ...alone),
  'refused for less than no time': list(
    ':0\r\n',
    bulk('x'),
    ':-2\r\n',
    ':-1\r\n',
    ...time,
    ...alone,
  ),
  'refused without a time': list(':0\r\n', bulk('x'), ':5\r\n', ':-1\r\n', ...alone),
  'refused at a time that is none': list(
    ':0\r\n',
    bulk('x'),
    ':5\r\n',
    ':-1\r\n',
    ':-5\r\n',
    ':5\r\n',
    ...alone,
  ),
  'refused, and no more': list(':0\r\n', bulk('x'), ':5\r\n', ':-1\r\n', ...time),
  'refused with slots that are none': list(
    ':0\r\n',
    bulk('x'),
    ':5\r\n',
    ':-1\r\n',
    ...time,
    bulk(''),
    bulk('1'),
    ':0\r\n',
  ),
  'refused for a name below the first': list(
    ':0\r\n',
    bulk('x'),
    ':5\r\n',
    ':-1\r\n',
    ...time,
    bulk(''),
    list(),
    ':-1\r\n',
  ),
  'extended at no time': list(':1\r\n', '$-1\r\n', '$-1\r\n', bulk('')),
  'extended, and no more': list(':1\r\n', ...time),
  'extended, and wanted by a number': list(':1\r\n', ...time, ':5\r\n'),
  'an error without words': '-\r\n',
  'an error with one': '-NONSENSE\r\n',
};

/** What Redis never sends to a client of RESP2, or what no list of it can be. */
const noProtocol: Readonly<Record<string, string>> = {
  'a list of length -5': '*-5\r\n',
  'text of length -5': '$-5\r\n',
  'nil of RESP3': '_\r\n',
  'nil of RESP3 before a list': '_ab*33554431\r\n',
  'true before a list': '#tab*33554431\r\n',
  'a double': ',1.5\r\n',
  'a map': '%1\r\n+a\r\n+b\r\n',
  'a set': '~1\r\n:1\r\n',
  'a verbatim text shorter than its kind': '=1\r\nx\r\n',
  'a text without its end': '$1\r\nxyz',
  'a line without its end': '*1\ra',
  'a number in words': ':one\r\n',
  'seventeen lists': `${'*1\r\n'.repeat(17)}:1\r\n`,
  'a list of 32,769 items': '*32769\r\n',
  'a list of 4,294,967,296 items': '*4294967296\r\n',
  'lists of 32,769 items in all': `*16384\r\n${'*1\r\n:1\r\n'.repeat(10)}*16375\r\n`,
  'the longest lists, twenty times': '*33554431\r\n'.repeat(20),
};

test.each(Object.entries(noProtocol))('%s: closes the connection', async (_, reply) => {
  const master = await hostileMaster(() => reply);
  const why = /protocol|not asked for|more than 32768 items/;
  expect(await handleOn(master.url).acquire(newClaim(), lasting)).toEqual(
    failed('connection', why),
  );
  await eventually('no connection left', async () => master.connectionCount === 0);
});

test('one item for each 32 bytes that a reply may have is read', async () => {
  const items = ':1\r\n'.repeat(32_768);
  const master = await hostileMaster(() => `*32768\r\n${items}`);
  expect(await handleOn(master.url).acquire(newClaim(), lasting)).toEqual(
    failed('reply', /^unexpected reply/),
  );
  expect(master.connectionCount).toBe(1);
});

const fuzzSeeds = [2, 16];
const fuzzCount = 350;

test('replies by chance have headers of every kind, with lengths of every kind', () => {
  const texts = fuzzSeeds.flatMap((seed) => {
    const chance = chanceOf(seed);
    return Array.from({ length: fuzzCount }, () => fuzzedReply(chance));
  });
  const isIn = (header: RegExp) => texts.some((text) => header.test(text));
  const lengths = ['[1-3]', '-\\d', '\\d{8}', '\\d{16,}', '', '\\?'].map((one) => `${one}\r\n`);
  const sized = [...'*~%>|$=!'].flatMap((type) => lengths.map((length) => `[${type}]${length}`));
  const lines = [...'+-:_,#('].map((type) => `[${type}][^\r\n]*\r\n`);
  const nested = ['([*]1?\\d\r\n){17}', '[|]\\d\r\n[$=]', '[>][1-3]\r\n[*]'];
  const missing = [...sized, ...lines, ...nested].filter((header) => !isIn(new RegExp(header)));
  expect(missing).toEqual([]);
});

test.each(fuzzSeeds)('replies by chance are votes or failures: seed %i', async (seed) => {
  const chance = chanceOf(seed);
  const fuzz = (_args: readonly string[], socket: Socket) => {
    sendInPieces(socket, fuzzedReply(chance), chance);
    return null;
  };
  // At any position: to INFO, ROLE or the script.
  let position = 0;
  const healthy = behind(() => grant());
  const master = await startHostile((args, socket) => {
    position -= 1;
    return position < 0 ? fuzz(args, socket) : healthy(args, socket);
  });
  for (let nth = 0; nth < fuzzCount; nth += 1) {
    position = Math.floor(chance() * 3);
    const handle = handleOn(master.url);
    const vote = await handle.acquire(newClaim(), lasting);
    expect(vote.kind, `reply ${nth}`).toMatch(/^(granted|refused|failed)$/);
    handle.close();
  }
});

describe.each(Object.entries(nonsense))('%s', (_, reply) => {
  test('is no vote, whatever was asked', async () => {
    const master = await hostileMaster(() => reply);
    const handle = handleOn(master.url);
    const claim = newClaim();
    const votes = [
      await handle.acquire(claim, lasting),
      await handle.extend(claim, 5, lasting),
      await handle.repair(claim, 5, lasting),
      await handle.release(claim, 0, null),
    ];
    for (const vote of votes) expect(vote).toEqual(failed('reply', /^[ -~]{4,320}$/));
  });

  test('of one master of three changes nothing', async () => {
    const master = await hostileMaster((_words, nth) => (nth === 0 ? grant() : reply));
    const { redlock } = redlockOn([...masters, master.url]);
    const attempt = await redlock.attempt(newClaim(), lasting);
    if (attempt.kind !== 'acquired') throw new Error(attempt.kind);
    expect(await redlock.extend(attempt.lease, lasting)).toMatchObject({ kind: 'extended' });
    expect(await redlock.release(attempt.lease.claim, 0, null)).toMatchObject({
      isConfirmed: true,
      missing: null,
    });
    const other = await redlock.attempt(newClaim(), lasting);
    expect(other.kind).toBe('acquired');
    if (other.kind === 'acquired') await redlock.release(other.lease.claim, 0, null);
    await redlock.settled();
    await untilNothingIsLeft(masters);
  });
});

test('what came is told by its kind', async () => {
  const master = await hostileMaster(() => '$-1\r\n');
  expect(await handleOn(master.url).acquire(newClaim(), lasting)).toEqual(
    failed('reply', /^unexpected reply: nil instead of a list$/),
  );
});

test('an unexpected answer to INFO and ROLE says nothing of the server', async () => {
  for (const reply of ['$-1\r\n', ':1\r\n', '*0\r\n', list(':1\r\n'), '_\r\n']) {
    const master = await hostileMaster(() => grant());
    const handle = handleOn(master.url);
    expect((await handle.acquire(newClaim(), lasting)).kind, reply).toBe('granted');
  }
});

describe('the words of a server', () => {
  const acting = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

  test.each([
    ['a title and a colour', '\u001b]0;PWNED\u0007\u001b[31mred'],
    ['DEL and C1', '\u007f\u009b31m'],
    ['bidi', '\u202eabc\u2066'],
    ['separators of lines', 'a\u2028b\u2029c'],
    ['a megabyte less a bit', 'x'.repeat(1_000_000)],
    ['as many spaces', ' '.repeat(1_000_000)],
  ])('never act, and are never long: %s', async (_, args) => {
    const master = await hostileMaster(() => `-ERR ${args}\r\n`);
    const vote = await handleOn(master.url).acquire(newClaim(), lasting);
    if (vote.kind !== 'failed') throw new Error(vote.kind);
    expect(vote.message).not.toMatch(acting);
    expect(vote.message.length).toBeLessThan(310);
  });
});

describe('a reply without end', () => {
  const endless =
    (start: string): Answer =>
    (_words, _nth, socket) => {
      const chunk = 'x'.repeat(65_536);
      const pour = () => {
        while (socket.writable && socket.write(chunk));
      };
      socket.on('drain', pour);
      socket.write(start);
      pour();
      return null;
    };

  test.each([
    ['text', '$900000000\r\n'],
    ['a list', '*9000\r\n$900000000\r\n'],
    ['a line', '+'],
    ['an error', '-ERR '],
  ])('loses its connection: %s', async (_, start) => {
    const master = await hostileMaster(endless(start));
    const handle = handleOn(master.url);
    expect(await handle.acquire(newClaim(), lasting)).toEqual(
      failed('connection', /^a reply of more than 1048576 bytes$/),
    );
    await eventually('no connection left', async () => master.connectionCount === 0);
  });

  test('so does one that answers nothing that was asked', async () => {
    const master = await hostileMaster(() => ':1\r\n'.repeat(400_000));
    const handle = handleOn(master.url);
    await handle.acquire(newClaim(), lasting);
    await eventually('no connection left', async () => master.connectionCount === 0);
  });
});

test('a server that answers once more than it was asked loses its connection', async () => {
  const master = await hostileMaster(() => `${refusal()}:1\r\n`);
  const handle = handleOn(master.url);
  await handle.acquire(newClaim(), lasting);
  await eventually('no connection left', async () => master.connectionCount === 0);
});

const waiter = { id: 'waiter', arrivalUs: 1 };

describe.each(Object.entries(strangeReplies))('%s', (_, bytes) => {
  const subscribes = (args: readonly string[]) => /^(subscribe|hello)$/i.test(args[0] ?? '');

  test('in answer to a subscription ends nothing but that', async () => {
    const master = await startHostile(behind((args) => (subscribes(args) ? bytes : refusal())));
    const handle = handleOn(master.url);
    const claim = newClaim({ waiter });
    const listening = handle.subscribe(claim.resources, waiter.id, () => {});
    await eventually('asked', async () => master.commands.some(subscribes));
    expect((await handle.acquire(claim, lasting)).kind).toBe('refused');
    handle.close();
    expect(await listening).toMatchObject({ kind: 'failed' });
  });

  test('after the right answer, unasked, costs a connection at most', async () => {
    const master = await hostileMaster(() => refusal() + bytes);
    const handle = handleOn(master.url);
    for (let nth = 0; nth < 3; nth += 1) {
      expect((await handle.acquire(newClaim(), lasting)).kind).toMatch(/refused|failed/);
    }
  });
});

test('any message wakes a waiter, however it is cut, until something else comes', async () => {
  let wokenCount = 0;
  const channelOf = (args: readonly string[]) => bulk(args[1] ?? '');
  const master = await startHostile(
    behind((args, socket) => {
      if (args[0] !== 'SUBSCRIBE') return refusal();
      const confirmed = list(bulk('subscribe'), channelOf(args), ':1\r\n');
      const messages =
        list(bulk('message'), channelOf(args), bulk('')) +
        list(bulk('message'), channelOf(args), bulk('é'));
      const send = (at: number) => {
        const byte = Buffer.from(confirmed + messages).subarray(at, at + 1);
        if (byte.length > 0) socket.write(byte, () => setImmediate(send, at + 1));
      };
      send(0);
      return null;
    }),
  );
  const handle = handleOn(master.url);
  const subscription = await handle.subscribe(['grün'], waiter.id, () => {
    wokenCount += 1;
  });
  expect(subscription).toHaveProperty('close');
  await eventually('woken twice', async () => wokenCount === 2);
});
