// States of a key that several may hold, as the truth tables of the scripts write them, put on a
// real server and read from it.
//
// A state: `them 5` is a key with their value and five seconds left, `them ∞` one that never
// expires, `shared 5 (us 5, them 3)` the mark of those that share and beside it each with its end,
// `slots2 5 (us@1 5)` that of two slots, `(us 5)` holders whose key is gone, `-` nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import type { TestMaster } from '../servers/masters.ts';

/** As a state says it: ms left, -1 or null: for ever. */
export const seconds = (ms: number | null) =>
  ms === null || ms === -1 ? '∞' : Math.round(ms / 1_000);
const fullOf = (word: string) => word.replace(/^slots/, 'slots ');
export const wordOf = (value: string) => value.replace(/^slots /, 'slots');

export async function arrange(master: TestMaster, state: string, key: string): Promise<void> {
  if (state === 'hash') await master.command('hset', key, 'field', 'x');
  const [, word, left, beside] = /^(?:([^\s(]+) (\S+))?\s*(?:\((.*)\))?$/.exec(state) ?? [];
  const expiry = left === '∞' ? [] : ['px', Number(left) * 1_000 || 1];
  if (word) await master.command('set', key, fullOf(word), ...expiry);
  if (left === '0') await sleep(3);
  for (const [, value = '', slot = '0', end] of beside?.matchAll(/(\w+)(?:@(\d))? (-?\d+)/g) ??
    []) {
    await master.command(
      'zadd',
      `{${key}}:holders`,
      Date.now() + Number(end) * 1_000,
      `${slot} ${value}`,
    );
  }
}

export async function stateOf(master: TestMaster, key: string): Promise<string> {
  const type = await master.command('type', key);
  const value = type === 'string' ? await master.get(key) : null;
  const leftMs = await master.command('pttl', key);
  const members = (await master.command(
    'zrange',
    `{${key}}:holders`,
    0,
    -1,
    'withscores',
  )) as string[];
  const now = Date.now();
  const ends = members.map((text, index) => (index % 2 === 0 ? text : Number(text) - now));
  return stateIn([type, value, leftMs], ends);
}

/** `members` is flat: slot and value, then ms left, of each that stands beside the key. */
export function stateIn(
  [type, value, leftMs]: unknown[],
  members: readonly (string | number)[],
): string {
  const beside = members.flatMap((member, index) => {
    if (index % 2 === 1) return [];
    const [slot, who] = String(member).split(' ');
    return [`${who}${slot === '0' ? '' : `@${slot}`} ${seconds(Number(members[index + 1]))}`];
  });
  const other = type === 'none' ? '' : type;
  const held = typeof value === 'string' ? `${wordOf(value)} ${seconds(leftMs as number)}` : other;
  return (
    [held, beside.length > 0 ? `(${beside.join(', ')})` : '']
      .filter((text) => text !== '')
      .join(' ') || '-'
  );
}
