// The masters that --local starts: exactly three, whichever run comes first, and the same ones for
// every run. Real servers in folders of their own; the user's own folder is never touched.

import { spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, test } from 'vitest';
import { rememberServers, startLocalMasters } from '../../src/local/local-masters.ts';
import { turnMs } from '../../src/local/start-missing.ts';
import { generous } from '../servers/patience.ts';
import { eventually, isAlive, isFrozen } from '../servers/processes.ts';
import { dieWithUs, forget, scratchFolder } from '../servers/watchdog.ts';

const environment = process.env;
const folders: string[] = [];

let count = 0;

function newFolder(): string {
  count += 1;
  const folder = join(scratchFolder(), `local${count}`);
  folders.push(folder);
  return folder;
}

/** The servers that run in this folder, by their pid files. */
function serversIn(folder: string): Map<string, number> {
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder).filter((name) => name.endsWith('.pid'));
  const all = files.map(
    (name) => [name.slice(0, 2), Number(readFileSync(join(folder, name), 'utf8'))] as const,
  );
  return new Map(all.filter(([, pid]) => isAlive(pid)));
}

/** The `count` servers of this folder; a pid file is written a moment after the socket is there. */
async function servers(folder: string, count = 3): Promise<Map<string, number>> {
  await eventually(`${count} servers`, () => serversIn(folder).size === count);
  for (const pid of serversIn(folder).values()) dieWithUs(pid);
  return serversIn(folder);
}

/**
 * Every server that was ever started here and is alive, also one that has lost its socket and its
 * pid file to another.
 */
function everStartedIn(folder: string): number[] {
  const pids = new Set(logsOf(folder).flatMap((log) => log.match(/^\d+(?=:)/gm) ?? []));
  const isOurs = (pid: number) =>
    isAlive(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
  return [...pids].map(Number).filter(isOurs);
}

async function end(pid: number): Promise<void> {
  if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  await eventually(`process ${pid} gone`, () => !isAlive(pid));
  forget(pid);
}

async function ask(socket: string, ...args: [string, ...string[]]): Promise<unknown> {
  const client = new Redis({ path: socket, retryStrategy: () => null });
  try {
    return await client.call(...args);
  } finally {
    client.disconnect();
  }
}

/** How often a server was started here, by the servers' own logs. */
function startsIn(folder: string): string[] {
  return logsOf(folder).flatMap((log) => log.match(/Redis is starting|Valkey is starting/g) ?? []);
}

function logsOf(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return names.map((name) => readFileSync(join(folder, name), 'utf8'));
}

afterEach(async () => {
  for (const folder of folders.splice(0)) for (const pid of everStartedIn(folder)) await end(pid);
});

test('ten processes at once start three servers, and all find the same ones', async () => {
  const directory = newFolder();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => startInAnotherProcess(directory)),
  );
  expect(new Set(answers)).toEqual(
    new Set([['m1', 'm2', 'm3'].map((name) => join(directory, `${name}.sock`)).join(' ')]),
  );
  await servers(directory);
  expect(startsIn(directory)).toHaveLength(3);
});

test('a server that died is replaced; the others, also a frozen one, are not', async () => {
  const directory = newFolder();
  const [first = '', second = ''] = await startLocalMasters(directory, environment);
  const before = await servers(directory);
  await ask(first, 'set', 'job', 'mine');
  await ask(second, 'set', 'job', 'mine');
  expect(await ask(first, 'config', 'get', 'port')).toEqual(['port', '0']);
  expect(statSync(first).mode & 0o777).toBe(0o700);

  const [one = 0, two = 0, three = 0] = ['m1', 'm2', 'm3'].map((name) => before.get(name));
  await end(one);
  process.kill(two, 'SIGSTOP');
  await eventually('m2 frozen', () => isFrozen(two));
  await Promise.all(Array.from({ length: 10 }, () => startLocalMasters(directory, environment)));
  process.kill(two, 'SIGCONT');

  const after = await servers(directory);
  expect([after.get('m2'), after.get('m3')]).toEqual([two, three]);
  expect(await ask(first, 'get', 'job')).toBeNull();
  expect(await ask(second, 'get', 'job')).toBe('mine');
  expect(startsIn(directory)).toHaveLength(4);
});

test('the servers hold nothing of their starter: pipe, session or environment', async () => {
  const directory = newFolder();
  // Resolves only when every holder of the pipes on 1, 2 and 3 has closed them.
  await startInAnotherProcess(directory);
  for (const pid of (await servers(directory)).values()) {
    const [, , parent, , session] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    expect(Number(session)).toBe(pid);
    expect(Number(parent)).not.toBe(process.pid);
    expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('PATH=');
  }
});

test('a starter that was killed in its turn only delays the next one', async () => {
  const directory = newFolder();
  mkdirSync(directory, { mode: 0o700 });
  writeFileSync(join(directory, 'turn.7'), '');
  const longAgo = new Date(Date.now() - turnMs - 1_000);
  utimesSync(join(directory, 'turn.7'), longAgo, longAgo);
  await Promise.all(Array.from({ length: 10 }, () => startLocalMasters(directory, environment)));
  await servers(directory);
  expect(startsIn(directory)).toHaveLength(3);
});

test('no server program: says so, and how to get one', async () => {
  const directory = newFolder();
  const nowhere = { PATH: scratchFolder(), HOME: scratchFolder() };
  const attempt = startLocalMasters(directory, nowhere);
  await expect(attempt).rejects.toThrow(
    /^local masters: .*: not found on PATH \(install one.*--master\)$/,
  );
  expect(existsSync(directory)).toBe(false);
});

test('a server that does not start: says its last words', async () => {
  const directory = newFolder();
  mkdirSync(directory, { mode: 0o700 });
  mkdirSync(join(directory, 'm2.sock')); // Nothing can be bound there.
  const attempt = startLocalMasters(directory, environment);
  await expect(attempt).rejects.toThrow(
    /^local masters: .*m2\.sock: the server did not start: .*bind.* \(see .*m2\.log\)$/,
  );
});

test('a server that refuses its options: says the last line of its stderr', async () => {
  const bin = join(newFolder(), 'bin');
  mkdirSync(bin, { recursive: true });
  const refusing = "#!/bin/sh\necho '*** FATAL ***' >&2\necho 'Bad directive' >&2\nexit 1\n";
  writeFileSync(join(bin, 'redis-server'), refusing, { mode: 0o755 });
  const attempt = startLocalMasters(newFolder(), { PATH: bin });
  await expect(attempt).rejects.toThrow(/: the server did not start: Bad directive \(see /);
});

const refused = [
  [
    'open to others',
    (path: string) => makeFolder(path, 0o755),
    /is open to other users \(mode 755\)/,
  ],
  ['a symbolic link', (path: string) => symlinkSync(scratchFolder(), path), /is a symbolic link/],
  ['a file', (path: string) => writeFileSync(path, ''), /is not a directory/],
] as const;

test.each(refused)('a folder that is %s is refused', async (_, make, why) => {
  const directory = join(scratchFolder(), `refused${refused.findIndex((row) => row[2] === why)}`);
  make(directory);
  const refusal = await startLocalMasters(directory, environment).catch(
    (error: Error) => error.message,
  );
  expect(refusal).toMatch(why);
  // Its user has named it, so it may hold anything.
  expect(refusal).toMatch(/ \(set localDirectory to another folder\)$/);
});

test.runIf(process.getuid?.() === 0)('a folder of another user is refused', async () => {
  const directory = join(scratchFolder(), 'foreign');
  makeFolder(directory, 0o700);
  chownSync(directory, 65534, 65534);
  await expect(startLocalMasters(directory, environment)).rejects.toThrow(
    /belongs to user 65534, not to you \(set localDirectory to another folder\)$/,
  );
});

describe('a run that goes on while its servers are replaced', () => {
  /**
   * What it finds when it looks again, after `change`, and after a later run has started what is
   * missing.
   */
  async function looksAfter(
    change: (directory: string, pids: Map<string, number>) => Promise<void> | void,
  ) {
    const directory = newFolder();
    const isSame = rememberServers(await startLocalMasters(directory, environment));
    const pids = await servers(directory);
    expect(isSame()).toBeNull();
    await change(directory, pids);
    const before = isSame();
    await startLocalMasters(directory, environment);
    await servers(directory);
    const after = isSame();
    for (const pid of pids.values()) await end(pid);
    return [before, after];
  }
  const told = (why: RegExp) => [expect.stringMatching(why), expect.stringMatching(why)];

  test('sees that the folder was removed', async () => {
    const looks = await looksAfter((directory) => rmSync(directory, { recursive: true }));
    expect(looks).toEqual(told(/^local masters: .*\/local\d+: removed or replaced$/));
  });

  test('sees that the folder was moved away', async () => {
    const looks = await looksAfter((directory) => renameSync(directory, `${directory}.old`));
    expect(looks).toEqual(told(/: removed or replaced$/));
  });

  test('sees that the sockets were removed', async () => {
    const looks = await looksAfter((directory) => {
      for (const name of ['m1', 'm2', 'm3']) rmSync(join(directory, `${name}.sock`));
    });
    expect(looks).toEqual(told(/: sockets removed or replaced$/));
  });

  test('sees that a majority of the sockets was removed', async () => {
    const looks = await looksAfter((directory) => {
      for (const name of ['m1', 'm2']) rmSync(join(directory, `${name}.sock`));
    });
    expect(looks).toEqual(told(/: sockets removed or replaced$/));
  });

  test('goes on when one server died and was started anew', async () => {
    expect(await looksAfter((_, pids) => end(pids.get('m1') ?? 0))).toEqual([null, null]);
  });
});

test('a path that no socket can have is refused', async () => {
  const directory = join(scratchFolder(), 'x'.repeat(100));
  await expect(startLocalMasters(directory, environment)).rejects.toThrow(
    /path too long for a unix socket/,
  );
});

/**
 * Runs the built module in a process whose every open descriptor is a pipe that we read to its
 * end.
 */
function startInAnotherProcess(directory: string): Promise<string> {
  const built = new URL('../../.cache/modules/local-masters.js', import.meta.url).href;
  const script = `import { startLocalMasters } from '${built}';
    const [, directory] = process.argv;
    const sockets = await startLocalMasters(directory, process.env);
    console.log(sockets.join(' '));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, directory], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    timeout: generous(20_000),
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr, child.stdio[3] as Readable]) {
    stream?.on('data', (chunk) => {
      text += chunk;
    });
  }
  return new Promise((resolve) => child.once('close', () => resolve(text.trim())));
}

function makeFolder(path: string, mode: number): void {
  mkdirSync(path);
  chmodSync(path, mode);
}
