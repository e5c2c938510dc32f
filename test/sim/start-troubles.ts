// What keeps a server that has just started from doing all that it is asked: it loads its data, a
// script of another program keeps it busy, it is full, it cannot write to its disk, or its rules do
// not allow marks yet. What it refuses, it refuses by the errors of a real one.

export type StartTrouble = 'loads' | 'busy' | 'full' | 'without disk' | 'denies marks';

const whileLoading = ['INFO', 'ROLE', 'CONFIG', 'SUBSCRIBE', 'PUBLISH'];

/** Whether a command takes memory, by the flags of a real server: else it only writes. */
export const writing: Readonly<Record<string, boolean>> = {
  SET: true,
  SETNX: true,
  GETSET: true,
  DEL: false,
  PEXPIRE: false,
  INCRBY: true,
  DECRBY: true,
  ZADD: true,
  ZREM: false,
  ZREMRANGEBYSCORE: false,
  HSET: true,
  HDEL: false,
  LPUSH: true,
  RPOP: false,
};

/** The error to a request as a whole; null: it is executed. */
export function refusalOf(trouble: StartTrouble | null, name: string): string | null {
  if (trouble === 'busy') return 'BUSY Redis is busy running a script.';
  return trouble === 'loads' && !whileLoading.includes(name)
    ? 'LOADING Redis is loading the dataset in memory'
    : null;
}

/**
 * The error to a command of a script that has written nothing yet; null: it is executed. A real
 * server stops no script that has written.
 */
export function refusalInScript(
  trouble: StartTrouble | null,
  [name = '', key = '']: readonly string[],
): string | null {
  const takesMemory = writing[name];
  if (takesMemory === undefined) return null;
  if (trouble === 'full' && takesMemory)
    return "OOM command not allowed when used memory > 'maxmemory'.";
  if (trouble === 'without disk')
    return 'MISCONF Redis is configured to save RDB snapshots, but is unable to persist on disk.';
  return trouble === 'denies marks' && key.endsWith(':mark')
    ? 'NOPERM this user has no permissions to access one of the keys used as arguments'
    : null;
}
