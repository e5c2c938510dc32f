// People beside the runs: redlockctl looks, stops and breaks locks, freezes and thaws them, holds
// them for a shell, step by step and in the background. What a person holds between acquire and
// release is a section like that of a command. The masters keep their data: one that comes back
// empty has forgotten a freeze, as the documentation says.

import { execFile } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kind } from '../faults.ts';
import type { Scene } from '../scenes.ts';
import { began, type Stage } from '../stage.ts';
import { now } from '../witness.ts';

/** For a lock that a person holds; nothing extends it unless asked. */
const personTtlMs = 8_000;
const maxMs = 60_000;
/** Each master answers again by then. */
const thawWithinMs = 30_000;

export const verbs: Scene = {
  name: 'people beside the runs',
  isPossible: () => true,
  planned: (plan) => plan,
  masters: ['keeps'],
  faults: {
    status: act('looked at', ({ ctl, lock }) => ctl('status', lock, '--json')),
    stop: act('asked to stop', ({ ctl, lock }) => ctl('stop', lock, '-w', '3s')),
    break: act('broken safely', ({ ctl, lock }) => ctl('break', lock, '--safely', '--yes')),
    freeze: act('frozen and thawed', frozen),
    steps: act('held in steps', held),
    hold: act('held by a shell', async ({ ctl, lock, stage }) => {
      const during = stage.random.between(100, 3_000);
      await ctl('hold', lock, '-w', '2s', '--ttl', '3s', { endAfterMs: during });
    }),
  },
  ttlsMs: [3_000, 4_000],
  mistake: {
    name: 'freeze-not-seen',
    breaks: 'a master grants a lock that is frozen there',
    edits: [
      {
        file: 'redis/scripts/lock.lua',
        from: "    local found = redis.pcall('GET', freeze_key(i))",
        to: '    local found = false',
      },
    ],
  },
};

interface Ended {
  readonly status: number;
  readonly stdout: string;
}

type Word = string | { readonly endAfterMs: number };

interface Person {
  readonly stage: Stage;
  readonly lock: string;
  readonly ctl: (...words: readonly Word[]) => Promise<Ended>;
}

function act(what: string, does: (person: Person) => Promise<unknown>): Kind {
  const fault = (stage: Stage) => {
    if (stage.peopleCount >= 3) return null;
    const lock = stage.random.pick(stage.locks);
    if (does === frozen && stage.freezing.has(lock)) return null;
    stage.peopleCount += 1;
    const ctl = (...words: readonly Word[]) => runCtl(stage, words);
    const done = began(stage, `lock ${what}`, lock);
    return does({ stage, lock, ctl }).then(() => {
      stage.peopleCount -= 1;
      return [done];
    });
  };
  return { weight: 3, fault };
}

/**
 * What has begun before is done with a ttl later; after that nothing begins until the thaw. A
 * freeze may be left where a master failed, also one that is refused: redlockctl says so, and it is
 * thawed until no master fails.
 */
async function frozen({ stage, lock, ctl }: Person): Promise<void> {
  stage.freezing.add(lock);
  const { status } = await ctl('freeze', lock, '--note', 'torture', '--for', '40s');
  const from = now() + stage.ttlMs / 1000;
  await sleep(stage.ttlMs + stage.random.between(500, 3_000));
  if (status === 0) stage.frozen.push({ lock, from, to: now() });
  for (const endAt = now() + thawWithinMs / 1000; now() < endAt; await sleep(200)) {
    const thawed = await ctl('thaw', lock, '--json');
    if (thawed.status === 0 && JSON.parse(thawed.stdout).failed.length === 0) break;
  }
  stage.freezing.delete(lock);
}

async function held({ stage, lock, ctl }: Person): Promise<void> {
  const ttl = ['--ttl', `${personTtlMs}ms`];
  // Requested after this instant: so it lasts at least so long from here.
  let until = now() + personTtlMs / 1000;
  const { status, stdout } = await ctl('acquire', lock, '-w', '1s', '--json', ...ttl);
  if (status !== 0) return;
  const { token, fence } = JSON.parse(stdout);
  // A tenth of it for clocks that differ, and the time between clock and line.
  const isValid = () => now() < until - personTtlMs / 10_000;
  const note = (what: string) => {
    const words = [what, lock, token, fence, `person-${token}`, 0, 'person', 'x'];
    appendFileSync(stage.log, `${now().toFixed(6)} ${words.join(' ')}\n`);
  };
  if (isValid()) note('begin');
  for (let rest = stage.random.integer(0, 2); rest > 0; rest -= 1) {
    for (const pauseAt = now() + stage.random.between(0.05, 3); now() < pauseAt && isValid(); ) {
      note('beat');
      await sleep(50);
    }
    const later = now() + personTtlMs / 1000;
    const extended = await ctl('extend', lock, '--token', token, ...ttl);
    if (extended.status === 0) until = later;
    if (!isValid()) break;
    note('beat');
  }
  await ctl('release', lock, '--token', token);
}

function runCtl({ ctl, environment }: Stage, words: readonly Word[]): Promise<Ended> {
  const [file = '', ...first] = ctl;
  const args = words.filter((word) => typeof word === 'string');
  const { endAfterMs } = words.find((word) => typeof word === 'object') ?? {};
  const options = { env: environment, timeout: maxMs, killSignal: 'SIGKILL' as const };
  return new Promise((resolve) => {
    const child = execFile(file, [...first, ...args], options, (error, stdout) => {
      const status = error === null ? 0 : Number(error.code ?? -1);
      resolve({ status, stdout });
    });
    if (endAfterMs !== undefined) setTimeout(() => child.kill('SIGTERM'), endAfterMs);
  });
}
