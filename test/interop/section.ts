// One section that only one may be in at a time, entered again and again by the other
// implementation, by our program and by our library at once. Two witnesses that have no part in the
// locks: a folder that exists while one is in it, and a number in a file that each reads, and
// writes one larger a moment later, so that of two at once one is lost.

import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { scratchFolder } from '../servers/watchdog.ts';
import { name, type Rig } from './rig.ts';

export interface Sections {
  readonly theirs: number;
  readonly program: number;
  readonly library: number;
  /** How often the folder was there already. */
  readonly overlaps: number;
  /** What the number in the file lacks to the number of sections. */
  readonly lost: number;
  /** Why it ended before each has had its share. */
  readonly failures: readonly string[];
}

export interface Plan {
  /** How often each of the three enters, at least: all go on until each has. */
  readonly shares: Pick<Sections, 'theirs' | 'program' | 'library'>;
  /** How long each stays inside. */
  readonly workMs: number;
  readonly limitMs: number;
}

/** Between two attempts of one. Mostly the section is free, or none would get in by polls. */
const pauseMs = () => 100 * Math.random();
/** Longer than any stall of a busy machine. */
const ttlMs = 30_000;

const command = (workMs: number) => `
mkdir "$0/inside" 2>/dev/null || echo overlap >> "$0/overlaps"
count=$(cat "$0/count"); sleep ${workMs / 1_000}; echo $((count + 1)) > "$0/count"
rmdir "$0/inside" 2>/dev/null || true`;

/**
 * Lets all three enter until each has had its share. It never throws for what they do: overlaps and
 * failures are in the result.
 */
export async function shareSection(rig: Rig, plan: Plan): Promise<Sections> {
  const { shares, workMs, limitMs } = plan;
  const folder = mkdtempSync(join(scratchFolder(), 'section-'));
  writeFileSync(join(folder, 'count'), '0\n');
  writeFileSync(join(folder, 'overlaps'), '');
  const counts = { theirs: 0, program: 0, library: 0 };
  const endAt = performance.now() + limitMs;
  const goesOn = () => {
    const missing = (['theirs', 'program', 'library'] as const).filter(
      (one) => counts[one] < shares[one],
    );
    if (missing.length > 0 && performance.now() > endAt)
      throw new Error(`too few sections within ${limitMs} ms: ${JSON.stringify(counts)}`);
    return missing.length > 0;
  };
  const theirs = await rig.theirs();
  const library = rig.library();

  const foreign = async () => {
    while (goesOn()) {
      if (await rig.attemptOf(theirs, ttlMs)) {
        await visit(folder, workMs);
        counts.theirs += 1;
        await theirs.release();
      }
      await sleep(pauseMs());
    }
  };
  const runs = async () => {
    while (goesOn()) {
      const args = ['-w', '1s', '--ttl', '30s', name, '--', 'sh', '-c', command(workMs), folder];
      const { code, stderr } = await rig.start(args).result;
      if (code === 0) counts.program += 1;
      else if (code !== 75) throw new Error(`redlock-run exits ${code}: ${stderr}`);
    }
  };
  const calls = async () => {
    while (goesOn()) {
      const lease = await library.acquire(name, ttlMs, { waitMs: 1_000 }).catch((error) => {
        if (error.kind !== 'busy') throw error;
        return null;
      });
      if (lease !== null) {
        await visit(folder, workMs);
        counts.library += 1;
        await lease.release();
      }
      await sleep(pauseMs());
    }
  };
  const ends = await Promise.allSettled([foreign(), runs(), calls()]);
  const written = Number(readFileSync(join(folder, 'count'), 'utf8'));
  return {
    ...counts,
    overlaps: readFileSync(join(folder, 'overlaps'), 'utf8').split('\n').length - 1,
    lost: counts.theirs + counts.program + counts.library - written,
    failures: ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : [])),
  };
}

async function visit(folder: string, workMs: number): Promise<void> {
  const inside = join(folder, 'inside');
  try {
    mkdirSync(inside);
  } catch {
    appendFileSync(join(folder, 'overlaps'), 'overlap\n');
  }
  const count = Number(readFileSync(join(folder, 'count'), 'utf8'));
  await sleep(workMs);
  writeFileSync(join(folder, 'count'), `${count + 1}\n`);
  try {
    rmdirSync(inside);
  } catch {
    // The other one of an overlap has removed it.
  }
}
