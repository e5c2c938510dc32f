// How long ago clock readings were taken, by clocks that stop, jump or begin with a process.

import { expect, it } from 'vitest';
import {
  eachMessage,
  type FromGuard,
  leastMsSince,
  mostMsSince,
  type Readings,
} from '../../../../src/run/guard/protocol.ts';

const then: Readings = { monotonic: 1_000, boot: 2_000, wall: 3_000 };

it.each<[string, Readings, number, number]>([
  ['all agree', { monotonic: 1_500, boot: 2_500, wall: 3_500 }, 500, 500],
  ['the machine slept', { monotonic: 1_500, boot: 9_500, wall: 10_500 }, 500, 7_500],
  ['a clock begins with its process', { monotonic: 1_540, boot: 2_500, wall: 3_500 }, 500, 540],
  ['the wall clock was set back', { monotonic: 1_500, boot: 2_500, wall: 0 }, 0, 500],
  ['there is no boot clock', { monotonic: 1_500, boot: null, wall: 3_600 }, 500, 600],
])('%s', (_title, now, leastMs, mostMs) => {
  expect([leastMsSince(then, now), mostMsSince(then, now)]).toEqual([leastMs, mostMs]);
});

it.each(['{', 'null', '5', '{"id":1}', 'what'])('takes the line %s for the end', (line) => {
  const seen: string[] = [];
  const read = eachMessage<FromGuard>(
    ({ kind }) => seen.push(kind),
    () => seen.push('broken'),
  );
  read('{"kind":"stopp');
  read(`ing"}\n${line}\n{"kind":"stopping"}\n`);
  read('{"kind":"stopping"}\n{\n');
  expect(seen).toEqual(['stopping', 'broken']);
});
