// The sets of masters that hosts have recorded beside the marks of masters.

import type { TestMaster } from './masters.ts';

const markKey = '{redlock:}:mark';

/** The field for exactly these masters. */
async function fieldOf(masters: readonly TestMaster[]): Promise<string> {
  const ids = masters.map((master) => master.command('hget', markKey, 'id'));
  return `set:${(await Promise.all(ids)).sort().join()}`;
}

/** Records on these masters that a host used exactly them `agoMs` ago. */
export async function recordSet(masters: readonly TestMaster[], host: string, agoMs = 0) {
  const field = await fieldOf(masters);
  for (const master of masters)
    await master.command('hset', markKey, field, `${Date.now() - agoMs} ${host}`);
}

export async function forgetSet(masters: readonly TestMaster[]): Promise<void> {
  const field = await fieldOf(masters);
  for (const master of masters) await master.command('hdel', markKey, field);
}

/** The host that each of these masters has as the last one that used exactly them; null: none. */
export async function usersOf(masters: readonly TestMaster[]): Promise<(string | null)[]> {
  const field = await fieldOf(masters);
  const recorded = masters.map((master) => master.command('hget', markKey, field));
  return (await Promise.all(recorded)).map((one) => String(one ?? '').split(' ')[1] ?? null);
}
