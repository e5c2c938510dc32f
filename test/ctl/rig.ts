// redlockctl on masters of a test file, and locks on them in known states. The library holds the
// locks and waits for them in this process. Every question is asked twice, as text and as JSON,
// because both are promises.
//
// `ctl` calls the program in this process: a start takes twenty times as long as most answers.
// ctl/programs.test.ts shows that the built program answers the same. Where a test is about a
// process (a signal, a pipe, a working folder, an owner), and where another build is tested, it is
// started.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, onTestFinished } from 'vitest';
import { MasterQuery } from '../../src/ctl/master-query.ts';
import type { Lease } from '../../src/lock/types.ts';
import { renderValue } from '../../src/lock/value.ts';
import { waitForLock } from '../../src/lock/wait.ts';
import { answer } from '../../src/programs/redlockctl.ts';
import { parseAddress } from '../../src/redis/address.ts';
import { defaultHistoryBytes } from '../../src/redis/calls/script-calls.ts';
import { serversAt } from '../../src/redis/server.ts';
import { createPlainClock } from '../../src/system/clock.ts';
import { environmentFor, type TestMaster } from '../cli/rig.ts';
import { clock, lasting, newClaim, redlockOn } from '../redis/rig.ts';
import { closeConnections } from '../servers/masters.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import {
  type CliResult,
  type CliRun,
  isStandalone,
  nodeProgram,
  type RunOptions,
  startCli,
} from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';

export const record = {
  host: 'web1',
  pid: 4711,
  user: 'ops',
  since: '2026-11-21T02:00:00.314Z',
  label: 'deploy.sh',
};
export const holderOfNote = { kind: 'redlock-run', ...record };

interface Place {
  readonly url: string;
}

/** The part of redlockctl that asks masters, without what is said of their answers. */
export function queryOf(masters: readonly Place[]): MasterQuery {
  const settings = {
    prefix: 'redlock:',
    restartGraceMs: 0,
    historyBytes: defaultHistoryBytes,
    protocol: 'redlock' as const,
  };
  const addresses = masters.map(({ url }) => parseAddress(url));
  return new MasterQuery(serversAt(addresses, settings, clock, 'look'), clock, generous(5_000));
}

/** Starts redlockctl on these masters. */
export function startCtl(
  masters: readonly Place[],
  args: readonly string[],
  options: RunOptions = {},
): CliRun {
  const env = { ...environmentFor(masters), ...options.env };
  return startCli(args, { ...options, program: 'redlockctl', env });
}

/** Starts it, and returns what came of it. */
export function startedCtl(
  masters: readonly Place[],
  args: readonly string[],
  options: RunOptions = {},
): Promise<CliResult> {
  return startCtl(masters, args, options).result;
}

/**
 * Calls it in this process, with an environment of its own; `hold`, which may leave a daemon, is
 * started.
 */
export async function ctl(
  masters: readonly Place[],
  args: readonly string[],
  { env = {}, ...others }: RunOptions = {},
): Promise<CliResult> {
  if (isStandalone || args[0] === 'hold' || Object.keys(others).length > 0)
    return startedCtl(masters, args, { env, ...others });
  const streams = { stdout: new Collector(), stderr: new Collector() };
  const startedAt = performance.now();
  const code = await answer(args, builtProgram, {
    ...streams,
    stdin: {},
    environment: {
      PATH: process.env.PATH,
      HOME: scratchFolder(),
      ...environmentFor(masters),
      ...env,
    },
    interrupted: () => new AbortController().signal,
    clockToStay: createPlainClock,
    endBy: (error) => {
      throw error;
    },
  });
  const [stdout, stderr] = [streams.stdout.text, streams.stderr.text];
  return { code, signal: null, stdout, stderr, elapsedMs: performance.now() - startedAt };
}

/** What a call starts: the daemon of `hold`, and the guard that doctor tries. */
const builtProgram = {
  file: process.execPath,
  args: [nodeProgram('redlockctl')],
  folder: fileURLToPath(new URL('../../dist/', import.meta.url)),
};

/** A stream that keeps what is written to it. */
class Collector extends Writable {
  text = '';

  override _write(chunk: Buffer, _: string, onWritten: () => void): void {
    this.text += chunk.toString();
    onWritten();
  }
}

// A program that ends closes its connections, and some of its verbs rely on that.
afterEach(closeConnections);

/** Words by which hold holds for a process that is no ancestor of what the tests start. */
export function forStranger(): string[] {
  const stranger = spawn('sleep', ['600']);
  onTestFinished(() => void stranger.kill('SIGKILL'));
  return ['--while-pid', String(stranger.pid)];
}

export interface Answer {
  readonly code: number | null;
  readonly text: string;
  readonly stderr: string;
  // biome-ignore lint/suspicious/noExplicitAny: the output of a program has no static type
  readonly json: any;
}

/** Asks as text and as JSON at once, and checks that both exit alike. */
export async function answerOf(
  masters: readonly Place[],
  args: readonly string[],
  options: RunOptions = {},
): Promise<Answer> {
  const [text, json] = await Promise.all([
    ctl(masters, args, options),
    ctl(masters, [...args, '--json'], options),
  ]);
  if (text.code !== json.code)
    throw new Error(`text exits ${text.code}, JSON ${json.code}\n${text.stderr}${json.stderr}`);
  return {
    code: text.code,
    text: text.stdout,
    stderr: text.stderr,
    json: json.stdout && JSON.parse(json.stdout),
  };
}

/** A value as redlock-run writes it, with a new token. */
export function newValue(): string {
  return renderValue(randomBytes(20).toString('base64url'), record);
}

/** Holds the lock on these masters, as redlock-run does. */
export async function hold(
  masters: readonly TestMaster[],
  resource: string,
  ttlMs = 60_000,
): Promise<Lease> {
  const { redlock } = redlockOn(masters, { prefix: 'redlock:' });
  const attempt = await redlock.attempt(
    newClaim({ resources: [resource], value: newValue(), ttlMs }),
    lasting,
  );
  if (attempt.kind !== 'acquired') throw new Error(`free, but ${attempt.kind}`);
  await redlock.settled();
  return attempt.lease;
}

/** So many waiters for the lock, until the function that it resolves with is called. */
export async function queueUp(
  masters: readonly TestMaster[],
  resource: string,
  count: number,
): Promise<() => Promise<void>> {
  const aborted = new AbortController();
  const waits = Array.from({ length: count }, (_, index) => {
    const { redlock } = redlockOn(masters, { prefix: 'redlock:' });
    const parts = {
      redlock,
      clock,
      random: Math.random,
      report: () => {},
      newClaim: () => newClaim({ resources: [resource] }),
      waiterId: `waiter${index + 1}`,
    };
    const limits = { waitMs: null, giveUpAfterMs: 10_000, aborted: aborted.signal };
    return waitForLock({ ...parts, ...limits });
  });
  await eventually(`${count} in line`, async () => {
    const lengths = await Promise.all(
      masters.map((master) => master.command('zcard', `{redlock:${resource}}:queue`)),
    );
    return lengths.every((length) => length === count);
  });
  return async () => {
    aborted.abort();
    await Promise.all(waits);
  };
}
