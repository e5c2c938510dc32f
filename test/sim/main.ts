// `npm run sim`: worlds of one or many profiles, seed by seed, on all cores; the table of mutants,
// or the pictures. A run that breaks a property is reported in one line with the command that
// repeats it. A hostile profile fails when nothing is found.

import { execFileSync, fork } from 'node:child_process';
import os from 'node:os';
import { parseArguments, type Share, type Wanted } from './arguments.ts';
import type { Property } from './checkers.ts';
import { wishesFor } from './hunt.ts';
import { checkout } from './mutant-build.ts';
import { printMutants } from './mutant-table.ts';
import { mutants } from './mutants.ts';
import { drawAll } from './pictures.ts';
import { hostileProfiles, isFair, type Profile } from './profiles.ts';
import { type Outcome, simulate, type Wishes } from './simulate.ts';
import { Tally } from './tally.ts';

const wanted = parseArguments(process.argv.slice(2));
if ('text' in wanted) {
  process[wanted.exitCode === 0 ? 'stdout' : 'stderr'].write(wanted.text);
  process.exitCode = wanted.exitCode;
} else {
  process.exitCode = await workOf(wanted);
}

function workOf(wanted: Wanted): Promise<number> {
  if (wanted.mutants) return printMutants();
  return wanted.pictures ? drawAll() : runWorlds(wanted);
}

async function runWorlds(wanted: Wanted): Promise<number> {
  const { profile: profiles, seed, runs, share } = wanted;
  const wishes = await wishesOf(wanted);
  if (share !== undefined) {
    await runShare(wanted, share, wishes, (outcome) => process.send?.(Tally.rowOf(outcome)));
    return 0;
  }
  const tally = new Tally(commit(), (line) => console.log(line));
  if (profiles.length * runs === 1) {
    const [profile] = profiles as [Profile];
    const outcome = await simulate(profile, seed, { ...wishes, isLogKept: wanted.log ?? false });
    console.log(`profile ${profile}, seed ${seed}, options ${JSON.stringify(outcome.options)}`);
    for (const line of outcome.lines) console.log(line);
    tally.add(Tally.rowOf(outcome));
  } else {
    console.log(
      `profiles ${profiles.join(' ')}, seeds ${seed} to ${seed + runs - 1}: ` +
        'each alone prints its options',
    );
    await runEverywhere(tally);
  }
  for (const line of tally.summary()) console.log(line);
  const silent = profiles.filter(
    (profile) => !isFair(profile) && !tally.hasFired(profile, firesOf(profile)),
  );
  for (const profile of silent)
    console.log(`hostile profile ${profile}: no checker fired that should have`);
  return tally.unfair.length > 0 || silent.length > 0 ? 1 : 0;
}

async function runShare(
  { profile: profiles, seed, runs }: Wanted,
  { index, count }: Share,
  wishes: Wishes,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  // What a hostile world is played for is seen once.
  const fired = new Set<Profile>();
  for (let number = seed; number < seed + runs; number += 1) {
    if (number % count !== index) continue;
    for (const profile of profiles.filter((one) => !fired.has(one))) {
      const until = firesOf(profile);
      const outcome = await simulate(profile, number, { ...wishes, until });
      if (outcome.findings.some(({ property }) => until.includes(property))) fired.add(profile);
      tell(outcome);
    }
  }
}

function runEverywhere(tally: Tally): Promise<unknown> {
  const count = os.availableParallelism();
  const shares = Array.from({ length: count }, (_, index) => {
    const worker = fork(
      process.argv[1] as string,
      [...process.argv.slice(2), '--share', `${index}/${count}`],
      {
        // Warnings are collected, and reported with the run that they belong to. With room for
        // what lives shortly, less garbage is moved about.
        execArgv: ['--no-warnings', '--min-semi-space-size=64', '--max-semi-space-size=64'],
      },
    );
    worker.on('message', (row) => tally.add(row as ReturnType<typeof Tally.rowOf>));
    return new Promise<void>((resolve, reject) => {
      worker.on('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`)),
      );
    });
  });
  return Promise.all(shares);
}

/** The system under test: src/ as it is, or a mutant. */
async function wishesOf({ mutant }: Wanted): Promise<Wishes> {
  const found = mutants.find(({ name }) => name === mutant);
  return found ? wishesFor(found) : {};
}

function firesOf(profile: Profile): readonly Property[] {
  return isFair(profile) ? [] : hostileProfiles[profile].fires;
}

function commit(): string {
  try {
    const words = ['describe', '--always', '--dirty', '--abbrev=10'];
    return execFileSync('git', words, {
      cwd: checkout(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'no commit';
  }
}
