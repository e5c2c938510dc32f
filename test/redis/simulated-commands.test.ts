// Lua and the commands of the simulated servers beside a real server: each row is evaluated on
// both, line by line, and each line replies the same.

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { commandNames, runCommand } from '../sim/sim-commands.ts';
import { lua } from '../sim/sim-lua.ts';
import { SimRedis } from '../sim/sim-redis.ts';
import { answerOf } from '../sim/sim-server.ts';
import { SimStore } from '../sim/sim-store.ts';
import { refusalInScript, writing } from '../sim/start-troubles.ts';
import { World } from '../sim/world.ts';

let master: TestMaster;
beforeAll(async () => {
  [master] = (await startMasters(1)) as [TestMaster];
});
beforeEach(() => master.flush());
afterAll(async () => {
  await stopAll();
  nothingLeft();
});

const members = "call('ZADD', 'z', 1, 'a', 2, 'b', 2, 'B', 3.5, 'c', '-inf', 'first')";
const rows: readonly (readonly [string, readonly string[]])[] = [
  ['values of Lua', ['1.9', '-1.9', 'true', 'false', 'nil', "''", "'ä'", "{1, 'a', nil, 2}"]],
  ['tables', ['{}', '{{1, {2.5}}, {}}', "{ok = 'fine'}", "{err = 'ERR no'}", '{1, {false, 2}}']],
  ['numbers as words', ["call('SET', 'k', 12345678901234567)", "call('GET', 'k')"]],
  ['failures', ["pcall('NOTHING').err ~= nil", "call('SET', 'k', '')", "pcall('HGET', 'k', 'a')"]],
  [
    'texts',
    [
      ...["call('GET', 'k')", "call('SET', 'k', 'v', 'PX', 1000)", "call('GET', 'k')"],
      ...["call('SET', 'k', 'w', 'NX', 'PX', 1000)", "call('SET', 'n', 'w', 'EX', 1, 'NX')"],
      ...["pcall('SET', 'k', 'v', 'PX', 0)", "pcall('SET', 'k', 'v', 'PX', 'x')"],
      ...["pcall('SET', 'k', 'v', 'XP', 1)", "call('SETNX', 'k', 'x')", "call('GETSET', 'k', 'y')"],
      ...["call('PTTL', 'k')", "call('PTTL', 'none')", "call('EXISTS', 'k', 'k', 'none')"],
      ...["call('TYPE', 'k')", "call('TYPE', 'none')", "call('DEL', 'k', 'none')"],
    ],
  ],
  [
    'expiries',
    [
      ...["call('PEXPIRE', 'k', 1000)", "call('SET', 'k', 1)", "call('PTTL', 'k')"],
      ...["call('PEXPIRE', 'k', 100000)", "call('PTTL', 'k') > 90000", "call('INCRBY', 'k', 4)"],
      ...["call('PTTL', 'k') > 90000", "call('DECRBY', 'k', 2)", "call('GET', 'k')"],
      ...["call('PEXPIRE', 'k', -1)", "call('GET', 'k')", "pcall('PEXPIRE', 'k', 'x')"],
      ...["call('SET', 'k', 'x')", "pcall('INCRBY', 'k', 1)", "#call('TIME')"],
    ],
  ],
  [
    'sorted sets by rank',
    [
      ...[members, "call('ZADD', 'z', 2, 'a', 9, 'd')", "call('ZADD', 'z', 1, 'a')"],
      ...["call('ZRANGE', 'z', 0, -1, 'WITHSCORES')", "call('ZRANGE', 'z', 1, 2)"],
      ...["call('ZRANGE', 'z', -2, -1)", "call('ZRANGE', 'z', 4, 2)", "call('ZRANGE', 'x', 0, -1)"],
      ...["call('ZSCORE', 'z', 'c')", "call('ZSCORE', 'z', 'none')", "call('ZRANK', 'z', 'b')"],
      ...[
        "call('ZRANK', 'z', 'none')",
        "call('ZREM', 'z', 'a', 'none')",
        "call('ZRANGE', 'z', 0, 0)",
      ],
      ...["call('ZREM', 'z', 'b', 'B', 'c', 'd', 'first')", "call('EXISTS', 'z')"],
    ],
  ],
  [
    'sorted sets by score',
    [
      ...[
        members,
        "call('ZRANGEBYSCORE', 'z', 2, 3.5)",
        "call('ZRANGEBYSCORE', 'z', '(2', '+inf')",
      ],
      ...["call('ZRANGEBYSCORE', 'z', '-inf', '(2')", "call('ZRANGEBYSCORE', 'z', '(1', '(2')"],
      ...["call('ZRANGEBYSCORE', 'z', '-inf', '+inf', 'LIMIT', 1, 2)", "call('ZADD', 'z', 5, 'e')"],
      ...["call('ZRANGEBYSCORE', 'z', 2, 9, 'WITHSCORES', 'LIMIT', 0, 2)"],
      ...["call('ZREMRANGEBYSCORE', 'z', '-inf', 1)", "call('ZRANGE', 'z', 0, -1)"],
      ...[
        "pcall('ZADD', 'z', 'x', 'a')",
        "call('ZREMRANGEBYSCORE', 'z', 0, 9)",
        "call('TYPE', 'z')",
      ],
    ],
  ],
  [
    'hashes and lists',
    [
      ...["call('HSET', 'h', 'a', 1, 'b', 2)", "call('HSET', 'h', 'b', 3, 'c', 4)"],
      ...[
        "call('HGET', 'h', 'b')",
        "call('HGET', 'h', 'none')",
        "call('LPUSH', 'l', 'a', 'b')",
        "call('LPUSH', 'l', 'c')",
        "call('LRANGE', 'l', 0, -5)",
      ],
      ...[
        "call('LRANGE', 'l', 0, -1)",
        "call('LRANGE', 'l', -2, 1)",
        "call('LRANGE', 'none', 0, 1)",
      ],
      ...["call('RPOP', 'l')", "call('LRANGE', 'l', 0, 9)", "call('RPOP', 'none')"],
      ...["call('RPOP', 'l')", "call('RPOP', 'l')", "call('TYPE', 'l')", "call('TYPE', 'h')"],
    ],
  ],
  [
    'keys of another type',
    ["call('HSET', 'k', 'a', 1)", "pcall('GET', 'k')", "pcall('ZADD', 'k', 1, 'a')"],
  ],
];

test.each(rows)('%s: the same replies as from a real server', async (_, lines) => {
  const store = new SimStore({ now: 1_000, trueTime: 0, time: () => [1, 0] });
  for (const line of lines) {
    const text = `local call, pcall = redis.call, redis.pcall\nreturn ${line}`;
    const reply = lua.run(text, [], [], (command) => runCommand(store, command));
    expect([line, messageOf(answerOf(reply))]).toEqual([line, await realReply(text)]);
  }
});

test('which commands write, and which of these take memory', async () => {
  const told = (await master.command('command', 'info', ...commandNames)) as [
    string,
    number,
    string[],
  ][];
  const flags = new Map(told.map(([name, , all]) => [name.toUpperCase(), new Set(all)]));
  const writers = commandNames.filter((name) => flags.get(name)?.has('write'));
  const takers = writers.filter((name) => flags.get(name)?.has('denyoom'));
  expect(Object.keys(writing).toSorted()).toEqual(writers.toSorted());
  expect(Object.keys(writing).filter((name) => writing[name])).toEqual(
    Object.keys(writing).filter((name) => takers.includes(name)),
  );
});

test.each([
  "pcall('SET', 'k', 'v')",
  "pcall('HSET', 'k', 'a', 1)",
  "pcall('GET', 'k')",
  "pcall('DEL', 'k')",
  "pcall('SET', 'k', 'v'), call('DEL', 'k')",
  "call('DEL', 'k') and pcall('SET', 'k', 'v')",
  "call('TIME') and pcall('SET', 'k', 'v')",
])('a full server, asked for %s: the same reply', async (line) => {
  const text = `local call, pcall = redis.call, redis.pcall\nreturn ${line}`;
  const redis = new SimRedis(new World('full'), { rate: 1, wallOffsetMs: 0 }, 'lock:');
  redis.refusalOf = (command) => refusalInScript('full', command);
  const simulated = messageOf(answerOf(redis.run(text, 'look', [], [])));
  await master.command('config', 'set', 'maxmemory', 1);
  const real = await realReply(text);
  await master.command('config', 'set', 'maxmemory', 0);
  expect(simulated).toEqual(real);
});

async function realReply(text: string): Promise<unknown> {
  try {
    return await master.command('eval', text, 0);
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(answer: unknown): unknown {
  return answer instanceof Error ? { error: answer.message } : answer;
}
