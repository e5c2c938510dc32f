// `npm run torture`: cells on a few lanes until the time is over, and what they have found. It
// prints a line for each cell, and leaves nothing behind.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArguments, type Wanted } from './arguments.ts';
import { type CellResult, playCell } from './cell.ts';
import { meansOfThisMachine, missing } from './means.ts';
import { pageOf, Sum } from './page.ts';
import { mistaken, productIn } from './product.ts';
import { mistakes } from './scenes.ts';
import { now } from './witness.ts';

/** A cell ends with a pause of some seconds, so it should not be short; but a fault shows soon. */
const maxCellMs = { usual: 40_000, broken: 12_000 };

const wanted = parseArguments(process.argv.slice(2));
if ('text' in wanted) {
  process[wanted.exitCode === 0 ? 'stdout' : 'stderr'].write(wanted.text);
  process.exitCode = wanted.exitCode;
} else {
  process.exitCode = await torture(wanted);
}

async function torture(wanted: Wanted): Promise<number> {
  const {
    minutes,
    seed,
    cells = Number.POSITIVE_INFINITY,
    lanes,
    keep,
    scene,
    break: broken,
  } = wanted;
  const means = meansOfThisMachine();
  for (const what of missing(means)) console.log(`not on this machine: ${what}`);
  const mistake = mistakes.find(({ name }) => name === broken);
  const product = mistake ? mistaken(mistake) : productIn(process.cwd());
  const [startedAt, tested] = [now(), commit()];
  const sum = new Sum();
  let endAt = startedAt + minutes * 60;
  let next = seed;
  const stop = () => {
    endAt = 0;
  };
  // What runs is ended in order; a second signal ends it at once, and the watchdog cleans up.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const lane = async () => {
    while (now() < endAt && next < seed + cells) {
      const maxMs = maxCellMs[broken === undefined ? 'usual' : 'broken'];
      const lastsMs = Math.min(maxMs, (endAt - now()) * 1000);
      const wish = { seed: next, lastsMs, means, product, break: broken, scene, keep };
      next += 1;
      const result = await playCell(wish);
      sum.add(result);
      tell(result, wanted);
      if (broken !== undefined && result.findings.length > 0) stop();
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const minutesTaken = (now() - startedAt) / 60;
  for (const line of sum.lines()) console.log(line);
  if (wanted.page) {
    const facts = { wanted, minutesTaken, commit: tested, means };
    writeFileSync('docs/results/torture.md', pageOf(sum, facts));
    console.log('docs/results/torture.md');
  }
  return sum.findingCount > 0 ? 1 : 0;
}

function tell(result: CellResult, wanted: Wanted): void {
  const { seed, scene, about, sectionCount, faultCounts, findings, longestPauseMs } = result;
  const faultCount = [...faultCounts.values()].reduce((sum, count) => sum + count, 0);
  const found = findings.length === 0 ? 'no finding' : `${findings.length} FINDINGS`;
  const counts = `${sectionCount} sections, ${faultCount} faults`;
  const pause = `longest pause ${Math.round(longestPauseMs)} ms`;
  console.log(`cell ${seed}: ${scene}; ${about}; ${counts}, ${found}; ${pause}`);
  for (const { kind, what } of findings) console.log(`  ${kind}: ${what}`);
  if (findings.length > 0) {
    const options = [['--break', wanted.break] as const, ['--scene', wanted.scene] as const];
    const again = options.map(([name, value]) => (value ? ` ${name} '${value}'` : '')).join('');
    console.log(`  again: npm run torture -- --seed ${seed} --cells 1${again}`);
  }
}

function commit(): string {
  try {
    const words = ['describe', '--always', '--dirty', '--abbrev=10'];
    return execFileSync('git', words, { encoding: 'utf8' }).trim();
  } catch {
    return 'no commit';
  }
}
