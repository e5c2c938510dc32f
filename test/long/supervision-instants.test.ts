// Forty random instants at which redlock-run is killed, frozen, or frozen and woken too late:
// from before it has read its options to the middle of the run, many around the start of the
// command. Nothing is left, and no process outlives the key. The seed is printed; SEED repeats the
// same instants (not the same scheduling).

import { expect, it } from 'vitest';
import { generous } from '../servers/patience.ts';
import { guardsOf, type Job, pass, sharedMasters, startFamily } from '../supervision/rig.ts';

const instantCount = Number(process.env.INSTANTS ?? 40);
const seed = Number(process.env.SEED ?? Date.now() % 1e6);
const lanes = 4;
/** Longer than the ttl. */
const tooLongMs = 7_500;

/** xorshift: the instants of one seed are always the same. */
function* numbers(from: number): Generator<number, never> {
  for (let state = from | 1; ; ) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    yield (state >>> 0) / 2 ** 32;
  }
}

const ways = {
  killed: async (job: Job) => job.run.signal('SIGKILL'),
  frozen: async (job: Job) => {
    job.run.signal('SIGSTOP');
    await pass(tooLongMs);
    job.run.signal('SIGKILL');
  },
  'woken too late': async (job: Job) => {
    job.run.signal('SIGSTOP');
    await pass(tooLongMs);
    job.run.signal('SIGCONT');
    await pass(2_500);
    // Frozen before it has asked for the lock: it acquires the lock afterwards, which is correct.
    if (job.run.child.exitCode === null) job.run.signal('SIGTERM');
  },
  terminated: async (job: Job) => job.run.signal('SIGTERM'),
};

it(`nothing is left at any of ${instantCount} instants`, {
  timeout: generous(1_200_000),
}, async () => {
  process.stderr.write(`  SEED=${seed}\n`);
  const masters = await sharedMasters();
  const random = numbers(seed);
  const tally: Record<string, number> = {};
  const instants = Array.from({ length: instantCount }, (_, index) => {
    // Half of them while it starts, most of those around the start of the command.
    const afterMs = index % 2 ? random.next().value * 1_200 : 150 + random.next().value * 450;
    const names = Object.keys(ways) as (keyof typeof ways)[];
    return {
      afterMs,
      way: names[Math.floor(random.next().value * names.length)] as keyof typeof ways,
    };
  });
  const lane = async () => {
    for (let instant = instants.pop(); instant; instant = instants.pop()) {
      const { afterMs, way } = instant;
      const flags = ['--ttl', '6s', '-k', '300ms'];
      const job = startFamily(masters, { flags, kinds: ['deaf', 'session', 'daemon', 'rabbit'] });
      await pass(afterMs);
      await ways[way](job);
      const left = pass(generous(15_000)).then(() => {
        throw new Error(
          `${way} after ${afterMs} ms: ${JSON.stringify([job.run.survivors(), job.witness.alive])}`,
        );
      });
      const { code, signal } = await Promise.race([job.run.result, left]);
      left.catch(() => {}); // It was in time.
      expect([0, 79, 143, null], `${way} after ${afterMs} ms: ${job.run.stderr}`).toContain(code);
      await job.nothingLeft().catch((error) => {
        throw new Error(`${way} after ${afterMs} ms: ${error.message}`);
      });
      expect(guardsOf(job.run.pid)).toEqual([]);
      const phase = job.run.stdout === '' ? 'before the job was up' : 'later';
      tally[`${way}, ${phase}: ${code ?? signal}`] =
        (tally[`${way}, ${phase}: ${code ?? signal}`] ?? 0) + 1;
      await job.cleanUp();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  process.stderr.write(`  ${JSON.stringify(tally, null, 1)}\n`);
});
