// A redlock-run that is stopped for longer than it waits for a server, while that server owes it an
// answer, which comes a moment after it has gone on: no connection is given up. How its time is
// counted: test/unit/lock/awake.test.ts.

import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  behind,
  bulk,
  grant,
  type HostileMaster,
  list,
  type Reply,
  refusal,
  startHostile,
} from '../servers/hostile-master.ts';
import { pemFile } from '../servers/pem.ts';
import { eventually, isFrozen } from '../servers/processes.ts';
import { CliRun } from '../servers/run-cli.ts';
import { tlsFront } from '../servers/tls.ts';
import { sharedMasters } from './rig.ts';

/** Longer than a server may take to connect, to log us in or to name a primary. */
const stallMs = 2_300;
/** So long after the run goes on the answer comes. */
const answerMs = 100;
/** A run of which this process saw less, because the machine gave it no time, is not judged. */
const mostBlindMs = 400;
const mostRuns = 10;
/** The first byte of TLS. */
const handshake = 22;

/** A run that is stopped at the first command for which `isDue`, and goes on after `stallMs`. */
class Stalled {
  run: CliRun | null = null;
  /** Calls back when the test is over. */
  readonly onEnd: (end: () => void) => void;
  wasStopped = false;
  /** The longest time that this process did not look at what came. */
  blindMs = 0;
  #lookedAt = performance.now();
  readonly #look = setInterval(() => {
    this.blindMs = Math.max(this.blindMs, performance.now() - this.#lookedAt);
    this.#lookedAt = performance.now();
  }, 10);

  constructor(onEnd: (end: () => void) => void) {
    this.onEnd = onEnd;
  }

  reply(isDue: (args: readonly string[]) => boolean, answers: Reply = granting): Reply {
    return (args, socket) => {
      const answer = answers(args, socket);
      if (this.wasStopped || !isDue(args)) return answer;
      void this.stop().then(() => socket.write(answer ?? ''));
      return null;
    };
  }

  /** Resolves when it has gone on, and a moment has passed. */
  async stop(): Promise<void> {
    this.wasStopped = true;
    const { run } = this;
    await sleep(answerMs); // It waits by now.
    run?.signal('SIGSTOP');
    await eventually('it is stopped', () => run !== null && isFrozen(run.pid));
    await sleep(stallMs);
    run?.signal('SIGCONT');
    await sleep(answerMs);
    clearInterval(this.#look);
  }

  start(masters: string, flags: readonly string[] = [], env: Record<string, string> = {}): CliRun {
    const environment = { REDLOCK_MASTERS: masters, REDLOCK_RESTART_GRACE: '0', ...env };
    const args = ['--ttl', '60s', ...flags, 'still', '--', 'echo', 'ran'];
    const run = new CliRun(args, { env: environment, timeoutMs: 40_000 });
    this.onEnd(() => run.killAll());
    this.run = run;
    return run;
  }
}

interface Story {
  readonly run: CliRun;
  /** What only a run that gave up would make more of, and how many there are otherwise. */
  readonly count: () => number;
  readonly expected: number;
}

/** Plays a run until this process saw all of it, and judges that one. */
function still(when: string, play: (stalled: Stalled) => Promise<Story>): void {
  it.concurrent(when, async ({ onTestFinished }) => {
    for (let runCount = 1; runCount <= mostRuns; runCount += 1) {
      const stalled = new Stalled(onTestFinished);
      const { run, count, expected } = await play(stalled);
      expect(await run.result).toMatchObject({ code: 0, stdout: 'ran\n' });
      expect(stalled.wasStopped).toBe(true);
      if (stalled.blindMs < mostBlindMs) return expect(count()).toBe(expected);
    }
    throw new Error(`none of ${mostRuns} runs could be judged: the machine stood still`);
  });
}

const granting = behind((args) => {
  if (is('auth')(args)) return '+OK\r\n';
  if (is('subscribe')(args)) {
    return args
      .slice(1)
      .map((name) => list(bulk('subscribe'), bulk(name), ':1\r\n'))
      .join('');
  }
  return grant();
});

const is = (command: string) => (args: readonly string[]) => args[0]?.toLowerCase() === command;
const countOf = ({ commands }: HostileMaster, command: string) =>
  commands.filter(is(command)).length;
const withPassword = (master: HostileMaster) => master.url.replace('//', '//:secret@');

still('while it connects', async (stalled) => {
  const master = await startHostile(granting);
  const tlsPort = await tlsFront(master.url.replace('unix://', ''), {
    onEnd: stalled.onEnd,
  });
  let tlsCount = 0;
  // It has asked for a connection, and cannot have finished its handshake.
  const front = createServer((near) => {
    near.on('error', () => near.destroy());
    const far = connect(tlsPort, '127.0.0.1');
    far.on('error', () => near.destroy());
    near.once('data', (first) => {
      far.write(first);
      // Another connection asks in the clear why this takes so long.
      if (first[0] !== handshake) return void near.pipe(far).pipe(near);
      tlsCount += 1;
      const isStopped = stalled.wasStopped ? Promise.resolve() : stalled.stop();
      void isStopped.then(() => near.pipe(far).pipe(near));
    });
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  stalled.onEnd(() => void front.close());
  const { port } = front.address() as AddressInfo;
  const env = { REDLOCK_CA_FILE: pemFile('ca.pem') };
  const run = stalled.start(`rediss://localhost:${port}`, [], env);
  return { run, count: () => tlsCount, expected: 1 };
});

still('while it logs in', async (stalled) => {
  const master = await startHostile(stalled.reply(is('auth')));
  const run = stalled.start(withPassword(master));
  return { run, count: () => countOf(master, 'auth'), expected: 1 };
});

still('while it asks a sentinel', async (stalled) => {
  const primary = await startHostile(granting);
  const path = primary.url.replace('unix://', '');
  const onTcp = async (socketPath: string) => {
    const server = createServer((near) => {
      const far = connect(socketPath);
      near.on('error', () => far.destroy()).pipe(far);
      far.on('error', () => near.destroy()).pipe(near);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stalled.onEnd(() => void server.close());
    return (server.address() as AddressInfo).port;
  };
  const primaryPort = await onTcp(path);
  const place = list(bulk('127.0.0.1'), bulk(String(primaryPort)));
  const sentinel = await startHostile(stalled.reply(is('sentinel'), () => place));
  const sentinelPort = await onTcp(sentinel.url.replace('unix://', ''));
  const run = stalled.start(`redis+sentinel://127.0.0.1:${sentinelPort}/mymaster`);
  return { run, count: () => countOf(sentinel, 'sentinel'), expected: 1 };
});

still('while it logs in to be woken', async (stalled) => {
  let loginCount = 0;
  const isSecondLogin = (args: readonly string[]) => {
    if (is('auth')(args)) loginCount += 1;
    return is('auth')(args) && loginCount === 2;
  };
  const waiting: Reply = (args, socket) => {
    return is('eval')(args) && countOf(master, 'subscribe') === 0
      ? refusal()
      : granting(args, socket);
  };
  const master = await startHostile(stalled.reply(isSecondLogin, waiting));
  const run = stalled.start(withPassword(master));
  return { run, count: () => countOf(master, 'auth'), expected: 2 };
});

still('while one of three owes a reply, and then is asked again', async (stalled) => {
  const others = (await sharedMasters()).slice(0, 2);
  for (const one of others) await one.command('set', 'redlock:still', 'theirs', 'px', 6_000);
  let isAsked = false;
  // Two others have refused in the meantime, and the round is over.
  const late: Reply = (args, socket) => {
    if (!is('eval')(args) || args[2] === '1') return granting(args, socket);
    if (isAsked) return refusal(1_000);
    isAsked = true;
    void sleep(500)
      .then(() => stalled.stop())
      .then(() => socket.write(refusal(1_000)));
    return null;
  };
  const master = await startHostile(late);
  const run = stalled.start([...others.map(({ url }) => url), withPassword(master)].join(','));
  // One for commands, one to be woken.
  return { run, count: () => countOf(master, 'auth'), expected: 2 };
});
