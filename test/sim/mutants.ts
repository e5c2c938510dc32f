// Deliberate mistakes in the lock, the connection to Redis, the run and its scripts. Each must be caught by a named checker
// in a fair world within so many seeds: that is what the silence of the checkers is worth. They are built by mutant-build.ts.
// The surprise: a mutant that no longer applies is a failure too, so whoever rewrites a line here also rewrites its mutant.

import type { Property } from './checkers.ts';
import type { Flaw } from './flaws.ts';
import type { FairProfile } from './profiles.ts';

export interface Edit {
  /** In src/. */
  readonly file: string;
  /** Occurs exactly once. */
  readonly from: string;
  readonly to: string;
}

export interface Mutant {
  readonly name: string;
  readonly breaks: string;
  readonly edits: readonly Edit[];
  /** For mistakes in the Lua scripts, which the simulated server makes in their place. */
  readonly flaw?: Flaw;
  readonly profile: FairProfile;
  readonly caughtBy: readonly Property[];
  readonly withinSeeds: number;
}

type Rest = Pick<Mutant, 'profile' | 'caughtBy' | 'withinSeeds'>;

const inSource = (name: string, breaks: string, rest: Rest, file: string, from: string, to: string): Mutant => ({
  name,
  breaks,
  edits: [{ file, from, to }],
  ...rest,
});

const inScript = (flaw: Flaw, breaks: string, rest: Rest): Mutant => ({ name: flaw, breaks, edits: [], flaw, ...rest });

const within = (withinSeeds: number, profile: FairProfile, ...caughtBy: Property[]): Rest => ({
  profile,
  caughtBy,
  withinSeeds,
});

export const mutants: readonly Mutant[] = [
  inSource(
    'quorum-one-lower',
    'two of four are a quorum',
    within(20, 'partitions', 'exclusion', 'honesty'),
    'lock/validity.ts',
    'return Math.floor(masterCount / 2) + 1;',
    'return Math.max(1, Math.floor(masterCount / 2));',
  ),
  inSource(
    'quorum-of-those-who-answer',
    'masters that fail are not counted at all',
    within(20, 'partitions', 'exclusion', 'honesty'),
    'lock/tally.ts',
    'const quorum = quorumOf(masterCount);\n  const { granted, refused, failed, unfit } = count(votes);',
    'const { granted, refused, failed, unfit } = count(votes);\n  const quorum = quorumOf(masterCount - failed);',
  ),
  inSource(
    'validity-from-after-the-requests',
    'validity begins when the answers have come',
    within(30, 'last-moment', 'honesty'),
    'lock/redlock.ts',
    'const validUntil = validUntilOf(startedAt, claim.ttlMs, this.#driftFactor);',
    'const validUntil = validUntilOf(this.#clock.now(), claim.ttlMs, this.#driftFactor);',
  ),
  inSource(
    'extension-from-after-the-requests',
    'an extension counts from when its answers have come',
    within(20, 'last-moment', 'honesty'),
    'lock/redlock.ts',
    'lease: { ...lease, startedAt, validUntil: validUntilOf(startedAt, claim.ttlMs, this.#driftFactor) }',
    'lease: { ...lease, startedAt, validUntil: validUntilOf(this.#clock.now(), claim.ttlMs, this.#driftFactor) }',
  ),
  inSource(
    'no-drift',
    'no allowance for clocks at different rates',
    within(20, 'drift', 'honesty'),
    'lock/validity.ts',
    'return Math.ceil(ttlMs * driftFactor) + 2;',
    'return ttlMs * 0;',
  ),
  inSource(
    'wrong-side-of-an-even-split',
    'half of an even number of masters is enough',
    within(10, 'even-masters', 'exclusion', 'honesty'),
    'lock/tally.ts',
    "if (granted >= quorum) return 'granted';",
    "if (granted > masterCount - quorum) return 'granted';",
  ),
  inSource(
    'failed-masters-extend',
    'an extension counts masters that did not answer',
    within(20, 'partitions', 'exclusion', 'honesty'),
    'lock/tally.ts',
    "if (extended >= quorum) return 'extended';",
    "if (extended + failed >= quorum) return 'extended';",
  ),
  inSource(
    'no-release-on-silent-masters',
    'a failed attempt is undone only where it was granted',
    within(20, 'slow-masters', 'litter'),
    'lock/redlock.ts',
    "masters.filter((master) => votes.get(master)?.kind !== 'refused')",
    "masters.filter((master) => votes.get(master)?.kind === 'granted')",
  ),
  inSource(
    'release-forgets-what-was-asked',
    'nothing is released that was not answered',
    within(20, 'slow-masters', 'litter'),
    'redis/redis-master.ts',
    'this.#mayHold.set(value, asked);\n    if (claim.waiter)',
    'if (claim.waiter)',
  ),
  inSource(
    'release-overtakes-the-acquire',
    'a silent connection is given up, and what it was sent is not released on it',
    within(80, 'even-masters', 'litter'),
    'redis/redis-master.ts',
    'if (retired) void this.#release(retired, withoutPlace(undoing));',
    'void retired;',
  ),
  inSource(
    'value-used-again',
    'an attempt has the value of the one before, which is still being given back',
    within(60, 'lossy', 'honesty'),
    'lock/acquire.ts',
    'if (this.#hasTried) this.#claim = { ...newClaim(), sharing: this.#claim.sharing, waiter: this.#claim.waiter };',
    'void newClaim;',
  ),
  inSource(
    'place-kept-after-giving-up',
    'who waits no longer keeps his place in the queue',
    within(10, 'contention', 'litter'),
    'lock/acquire.ts',
    'if (this.#line) void this.#parts.redlock.release(this.#claim, 0, this.#recordOf(acquisition));',
    'void this.#line;',
  ),
  inSource(
    'no-write-back',
    'the largest count of the voters is taken as it is',
    within(20, 'partitions', 'fence'),
    'lock/redlock.ts',
    'const agreed = fence.isAgreed ? lease : await this.#writeBack(lease);',
    'const agreed = fence.isAgreed || this.#ours.size > 0 ? lease : await this.#writeBack(lease);',
  ),
  inSource(
    'smallest-count',
    'the smallest count of the voters is the number',
    within(20, 'partitions', 'fence'),
    'lock/fence.ts',
    'const number = Math.max(...counts);',
    'const number = Math.min(...counts);',
  ),
  inSource(
    'no-restart-grace',
    'a master that may have forgotten a lock votes at once',
    within(60, 'restarts-empty', 'exclusion', 'oneChild'),
    'redis/restart.ts',
    'return agoMs < graceMs ? unlessDurable(connection, agoMs, graceMs) : null;',
    'return agoMs < Number.NEGATIVE_INFINITY ? unlessDurable(connection, agoMs, graceMs) : null;',
  ),
  inSource(
    'stopped-too-late',
    'stopping begins when validity has ended',
    within(20, 'partitions', 'childUnderLease'),
    'lock/keep-alive.ts',
    'return lease.validUntil - reserveMs;',
    'return lease.validUntil + reserveMs;',
  ),
  inSource(
    'guard-without-kill',
    'the guard asks to stop and leaves it at that',
    within(40, 'long-pauses-guarded', 'childUnderLease'),
    'run/guard/guard.ts',
    'await this.#guarded.kill();\n    this.#hasKilled = true;',
    'this.#hasKilled = true;',
  ),
  inSource(
    'guard-asleep',
    'the guard is never armed',
    within(20, 'long-pauses-guarded', 'childUnderLease'),
    'run/guard/guard.ts',
    '      this.#watch();\n',
    '',
  ),
  inSource(
    'release-before-the-sweep',
    'the lock is released while something of the command is alive',
    within(10, 'calm', 'childUnderLease'),
    'run/supervisor.ts',
    "return [{ ...state, phase: 'sweeping', cause: { kind: 'child' }, childExit: event.exit }, [sweep]];",
    "return [{ ...state, phase: 'releasing', cause: { kind: 'child' }, childExit: event.exit }, [release]];",
  ),
  inSource(
    'sleep-does-not-count',
    'time that the machine slept is not time',
    within(40, 'suspends', 'childUnderLease', 'honesty'),
    'system-clock.ts',
    'aheadMs += jumpMs;',
    'aheadMs += 0;',
  ),
  inSource(
    'waits-for-every-master',
    'a round has no deadline',
    within(20, 'one-master', 'boundedEnd'),
    'lock/poll.ts',
    'clock.sleep(masterTimeoutMs, isOver)',
    'clock.sleep(masterTimeoutMs * 1e6, isOver)',
  ),
  inScript('release-without-comparing', 'a release removes whatever is there', within(10, 'contention', 'ownership')),
  inScript('extend-without-comparing', 'an extension extends whatever is there', within(40, 'partitions', 'ownership')),
  inScript('extend-revives', 'an extension sets a key that is gone', within(60, 'partitions', 'litter', 'exclusion')),
  inScript('heal-overwrites', 'a heal replaces the value of another', within(60, 'restarts-empty', 'ownership')),
  inScript(
    'acquire-overwrites-expiring',
    'a key that is about to expire is taken',
    within(10, 'contention', 'ownership'),
  ),
  inScript(
    'fence-raised-without-owner-check',
    'the number is written back where the key is no longer ours',
    within(20, 'partitions', 'fence', 'exclusion', 'honesty'),
  ),
  inScript('acquire-jumps-the-queue', 'a free key is granted to whoever asks', within(10, 'contention', 'order')),
  inScript('release-calls-nobody', 'whoever waits finds out by himself', within(10, 'contention', 'handOver')),
  inScript('release-calls-everybody', 'all who wait are called, and not the first', within(10, 'contention', 'cost')),
  inScript(
    'release-always-calls',
    'a release that removed nothing calls the first in line',
    within(10, 'many-contenders', 'cost'),
  ),
  inScript('release-calls-oneself', 'who gives back a lost vote calls himself', within(20, 'contention', 'cost')),
  inScript('refusal-always-calls', 'every refusal calls the first in line', within(20, 'many-contenders', 'cost')),
  inScript(
    'queue-keeps-the-deaf',
    'who does not hear his call keeps his place',
    within(20, 'sudden-deaths', 'handOver'),
  ),
  inSource(
    'hears-nothing',
    'a call does not end the pause',
    within(10, 'contention', 'handOver'),
    'lock/line.ts',
    'this.#callers.add(master);\n    this.#onCall();',
    'this.#callers.add(master);',
  ),
  {
    name: 'listens-too-late',
    breaks: 'who waits listens only some time after he has taken his place',
    edits: [
      {
        file: 'lock/line.ts',
        from: 'await clock.sleep(atMostMs, enough.signal);\n    return line;',
        to: 'return line;',
      },
      {
        file: 'lock/line.ts',
        from: 'master\n        .listen(claim, () => line.#hear(master))',
        to: 'clock.sleep(1_500).then(() => master.listen(claim, () => line.#hear(master)))',
      },
    ],
    ...within(40, 'contention', 'handOver'),
  },
  inSource(
    'never-polls',
    'whoever waits relies on being called',
    within(80, 'sudden-deaths', 'handOver', 'liveness'),
    'lock/acquire.ts',
    'const pollMs = { least: 900, most: 1_000 };',
    'const pollMs = { least: 900_000, most: 1_000_000 };',
  ),
  inSource(
    'polls-all-the-time',
    'whoever waits asks twenty times a second',
    within(10, 'contention', 'cost'),
    'lock/acquire.ts',
    'const pollMs = { least: 900, most: 1_000 };',
    'const pollMs = { least: 45, most: 50 };',
  ),
  inScript('fence-not-raised', 'the write-back writes nothing', within(20, 'partitions', 'fence')),
  inScript('fence-starts-at-zero', 'a lost counter starts anew', within(60, 'restarts-empty', 'fence')),
];
