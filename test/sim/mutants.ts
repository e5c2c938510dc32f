// Deliberate mistakes in the lock, the connection to Redis, the run and its scripts. Each must be
// caught by a named checker in a fair world within so many seeds: that is what the silence of the
// checkers is worth. *Note:* a mutant that no longer applies is a failure, so a change of such a
// line here includes its mutant.

import { jointMutants } from './joint-mutants.ts';
import { listMutants } from './list-mutants.ts';
import { inScript, inSource, type Mutant, rarely, unasserted, within } from './mutant.ts';
import { peopleMutants } from './people-mutants.ts';
import { setnxMutants } from './setnx-mutants.ts';
import { stepMutants } from './step-mutants.ts';

export const mutants: readonly Mutant[] = [
  inSource(
    'quorum-one-lower',
    'two of four are a quorum',
    within(20, 'partitions', 'exclusion', 'honesty'),
    'lock/quorum.ts',
    'return Math.floor(masterCount / 2) + 1;',
    'return Math.max(1, Math.floor(masterCount / 2));',
  ),
  unasserted(
    inSource(
      'quorum-of-answering-masters',
      'masters that fail are not counted at all',
      rarely(20, 'partitions', 'exclusion', 'honesty'),
      'lock/quorum.ts',
      'const quorum = quorumOf(masterCount);\n' +
        '  const { granted, refused, failed, misconfigured } = count(votes);',
      'const { granted, refused, failed, misconfigured } = count(votes);\n' +
        '  const quorum = quorumOf(masterCount - failed);',
    ),
    'lock/redlock.ts',
    'grantedCount >= quorumOf(this.masterCount)',
    'grantedCount >= 0',
  ),
  inSource(
    'validity-from-after-the-requests',
    'validity begins when the replies have come',
    rarely(30, 'last-moment', 'honesty'),
    'lock/redlock.ts',
    'const validUntil = validUntilOf(startedAt, claim.ttlMs, this.#driftFactor);',
    'const validUntil = validUntilOf(this.#clock.now(), claim.ttlMs, this.#driftFactor);',
  ),
  inSource(
    'extension-from-after-the-requests',
    'an extension counts from when its replies have come',
    rarely(20, 'last-moment', 'honesty'),
    'lock/redlock.ts',
    'validUntil: validUntilOf(startedAt, claim.ttlMs, this.#driftFactor),',
    'validUntil: validUntilOf(this.#clock.now(), claim.ttlMs, this.#driftFactor),',
  ),
  inSource(
    'no-drift',
    'no allowance for clocks at different rates',
    rarely(20, 'drift', 'honesty'),
    'lock/quorum.ts',
    'return Math.ceil(ttlMs * driftFactor) + 2;',
    'return ttlMs * 0;',
  ),
  unasserted(
    inSource(
      'wrong-side-of-an-even-split',
      'half of an even number of masters is a quorum',
      rarely(10, 'even-masters', 'exclusion', 'honesty'),
      'lock/quorum.ts',
      "if (granted >= quorum) return 'granted';",
      "if (granted > masterCount - quorum) return 'granted';",
    ),
    'lock/redlock.ts',
    'grantedCount >= quorumOf(this.masterCount)',
    'grantedCount >= 0',
  ),
  unasserted(
    inSource(
      'failed-masters-extend',
      'an extension counts masters that did not answer',
      rarely(20, 'partitions', 'exclusion', 'honesty'),
      'lock/quorum.ts',
      "if (extended >= quorum) return 'extended';",
      "if (extended + failed >= quorum) return 'extended';",
    ),
    'lock/redlock.ts',
    "countOf(votes, 'extended') >= quorumOf(this.masterCount)",
    "countOf(votes, 'extended') >= 0",
  ),
  inSource(
    'no-release-on-silent-masters',
    'a failed attempt is rolled back only where it was granted',
    rarely(20, 'slow-masters', 'litter'),
    'lock/redlock.ts',
    "masters.filter((master) => votes.get(master)?.kind !== 'refused')",
    "masters.filter((master) => votes.get(master)?.kind === 'granted')",
  ),
  inSource(
    'release-forgets-what-was-asked',
    'claims without a reply are not released',
    rarely(20, 'slow-masters', 'litter'),
    'redis/redis-master.ts',
    'const { asked } = this.#request(claim);',
    "const asked = Symbol('request');",
  ),
  inSource(
    'release-overtakes-the-acquire',
    'a silent connection is dropped, and its claims are not released on it',
    rarely(250, 'even-masters', 'litter'),
    'redis/redis-master.ts',
    'void this.#release(retired, withoutWaiter(undoing));',
    '',
  ),
  inSource(
    'value-used-again',
    'an attempt uses the value of the one before, which is still being released',
    rarely(120, 'lossy', 'honesty'),
    'lock/wait.ts',
    'if (this.#hasTried)\n' +
      '          this.#claim = { ...newClaim(), sharing: this.#claim.sharing, waiter: ' +
      'this.#claim.waiter };',
    'void newClaim;',
  ),
  inSource(
    'position-kept-after-giving-up',
    'a client that has stopped waiting keeps its position in the queue',
    within(10, 'contention', 'litter'),
    'lock/wait.ts',
    'if (this.#subscriptions || isRefused)',
    'if (isRefused && !this.#subscriptions)',
  ),
  inSource(
    'no-write-back',
    'the largest count of the voters is used without writing it back',
    rarely(20, 'partitions', 'fence'),
    'lock/redlock.ts',
    'const agreed = fence.isAgreed ? lease : await this.#writeBack(lease);',
    'const agreed = fence.isAgreed || this.masterCount > 0 ? lease : await this.#writeBack(lease);',
  ),
  inSource(
    'smallest-count',
    'the smallest count of the voters is the number',
    rarely(20, 'partitions', 'fence'),
    'lock/quorum.ts',
    'const number = Math.max(...counts);',
    'const number = Math.min(...counts);',
  ),
  inSource(
    'no-restart-grace',
    'a master that may have forgotten a lock votes at once',
    within(60, 'restarts-empty', 'exclusion', 'oneChild'),
    'redis/restart.ts',
    'if (restartGraceMs === 0 ||',
    'if (restartGraceMs >= 0 ||',
  ),
  inSource(
    'believes-appendfsync-always',
    'a server with a new mark votes at once where it writes each change to its disk',
    rarely(60, 'replaced-disks', 'exclusion', 'oneChild'),
    'redis/restart.ts',
    'if (restartedMs !== null || startedAt === null) return failure;',
    'if (restartedMs !== null || startedAt === null) return null;',
  ),
  inSource(
    'new-mark-counts',
    'a mark that was just written counts as one from before the restart',
    rarely(60, 'replaced-disks', 'exclusion', 'oneChild'),
    'redis/restart.ts',
    'markedMs: young(mark === null ? null : now - mark.since),',
    'markedMs: young(mark === null ? null : now - mark.since + graceMs),',
  ),
  inSource(
    'promoted-votes-at-once',
    'a replica that was promoted votes at once',
    rarely(80, 'failovers', 'exclusion', 'oneChild'),
    'redis/restart.ts',
    'return seenMs < graceMs ?',
    'return seenMs < 0 ?',
  ),
  inScript(
    'promotion-known-for-any-replica',
    'the record of an earlier promotion counts for the next one',
    rarely(80, 'failovers', 'exclusion', 'oneChild'),
  ),
  inSource(
    'stopped-too-late',
    'the stop begins only when validity has ended',
    rarely(60, 'partitions', 'childUnderLease'),
    'lock/lease-keeper.ts',
    'return lease.validUntil - reserveMs;',
    'return lease.validUntil + reserveMs;',
  ),
  inSource(
    'guard-without-kill',
    'the guard sends the stop signal, and never SIGKILL',
    rarely(40, 'long-pauses-guarded', 'childUnderLease'),
    'run/guard/guard.ts',
    '    await this.#guarded.kill();\n',
    '',
  ),
  inSource(
    'guard-starts-too-late',
    'the guard starts a command whose deadline has passed',
    rarely(100, 'late-guards', 'childUnderLease'),
    'run/guard/guard.ts',
    'return this.#clock.now() < this.#stopAt;',
    'return this.#clock.now() < Number.POSITIVE_INFINITY;',
  ),
  inSource(
    'guard-asleep',
    'the guard never watches the deadlines',
    within(20, 'long-pauses-guarded', 'childUnderLease'),
    'run/guard/guard.ts',
    '    this.#watch();\n',
    '',
  ),
  inSource(
    'release-before-the-sweep',
    'the lock is released while processes of the command are alive',
    within(10, 'calm', 'childUnderLease'),
    'run/supervisor.ts',
    "{ ...state, phase: 'sweeping', cause: { kind: 'child' }, childExit: event.exit },\n" +
      '        [sweep],',
    "{ ...state, phase: 'releasing', cause: { kind: 'child' }, childExit: event.exit },\n" +
      '        [release],',
  ),
  inSource(
    'sleep-does-not-count',
    'the time that the machine slept is not counted',
    rarely(400, 'suspends', 'childUnderLease', 'honesty'),
    'system/clock.ts',
    'aheadMs += jumpMs;',
    'aheadMs += 0;',
  ),
  inSource(
    'waits-for-every-master',
    'a round has no deadline',
    rarely(20, 'one-master', 'boundedEnd'),
    'lock/round.ts',
    'sleepAwake(this.#clock, this.#masterTimeoutMs, isOver.signal)',
    'sleepAwake(this.#clock, this.#masterTimeoutMs * 1e6, isOver.signal)',
  ),
  inScript(
    'release-without-comparing',
    'a release removes whatever is there',
    rarely(10, 'contention', 'ownership'),
  ),
  inScript(
    'extend-without-comparing',
    'an extension extends whatever is there',
    rarely(40, 'partitions', 'ownership'),
  ),
  inScript(
    'extend-revives',
    'an extension sets a missing key again',
    rarely(60, 'partitions', 'litter', 'exclusion'),
  ),
  inScript(
    'repair-overwrites',
    'a repair replaces the value of another',
    rarely(200, 'restarts-empty', 'ownership'),
  ),
  inScript(
    'acquire-overwrites-expiring',
    'a key that is about to expire is taken',
    rarely(10, 'contention', 'ownership'),
  ),
  inScript(
    'fence-raised-without-owner-check',
    'the number is written back where another value holds the key',
    rarely(20, 'partitions', 'fence', 'exclusion', 'honesty'),
  ),
  inScript(
    'acquire-jumps-the-queue',
    'a free key is granted to any client, whatever the queue',
    rarely(10, 'contention', 'order'),
  ),
  inScript('release-wakes-none', 'a release wakes no waiter', within(10, 'contention', 'handOver')),
  inScript(
    'release-wakes-all',
    'a release wakes all waiters, and not only the first',
    rarely(40, 'contention', 'cost'),
  ),
  inScript(
    'release-always-wakes',
    'a release that removed nothing wakes the first waiter',
    rarely(10, 'many-contenders', 'cost'),
  ),
  inScript(
    'release-wakes-itself',
    'the rollback of a lost vote wakes the client that sends it',
    rarely(60, 'contention', 'cost'),
  ),
  inScript(
    'refusal-always-wakes',
    'every refusal wakes the first waiter',
    rarely(20, 'many-contenders', 'cost'),
  ),
  inScript(
    'queue-keeps-the-silent',
    'a waiter that does not answer its wake-up keeps its position',
    rarely(20, 'sudden-deaths', 'handOver'),
  ),
  inSource(
    'wake-up-ignored',
    'a wake-up does not end the pause',
    within(10, 'contention', 'handOver'),
    'lock/wait-queue.ts',
    'for (const look of this.#onWakeUp) look();',
    'void this.#onWakeUp;',
  ),
  {
    name: 'subscribes-too-late',
    breaks: 'a waiter subscribes only some time after it was queued',
    edits: [
      {
        file: 'lock/wait-queue.ts',
        from: 'await clock.sleep(atMostMs, enough.signal);\n    return subscriptions;',
        to: 'return subscriptions;',
      },
      {
        file: 'lock/wait-queue.ts',
        from: 'master\n        .subscribe(claim, () => subscriptions.#wake(master))',
        to:
          'clock.sleep(1_500).then(() => master.subscribe(claim, () => ' +
          'subscriptions.#wake(master)))',
      },
    ],
    ...within(40, 'contention', 'handOver'),
  },
  inSource(
    'never-polls',
    'a waiter relies on its wake-up alone',
    rarely(80, 'sudden-deaths', 'handOver', 'liveness'),
    'lock/wait.ts',
    'const pollMs = { least: 900, most: 1_000 };',
    'const pollMs = { least: 900_000, most: 1_000_000 };',
  ),
  inSource(
    'polls-all-the-time',
    'a waiter asks twenty times a second',
    rarely(10, 'contention', 'cost'),
    'lock/wait.ts',
    'const pollMs = { least: 900, most: 1_000 };',
    'const pollMs = { least: 45, most: 50 };',
  ),
  inScript('fence-not-raised', 'the write-back writes nothing', within(20, 'partitions', 'fence')),
  inScript(
    'fence-starts-at-zero',
    'a lost counter starts anew',
    rarely(60, 'restarts-empty', 'fence'),
  ),
  ...jointMutants,
  ...listMutants,
  ...peopleMutants,
  ...setnxMutants,
  ...stepMutants,
];
