// `npm run sim`: worlds of one or many profiles, seed by seed, on all cores; the table of mutants, or the pictures. A run that breaks a
// property is told in one line, with the command that repeats it. The surprise: a hostile profile fails when nothing is found.

import { execFileSync, fork } from 'node:child_process';
import os from 'node:os';
import { parseArgs } from 'node:util';
import { wishesFor } from './hunt.ts';
import { checkout } from './mutant-build.ts';
import { printMutants } from './mutant-table.ts';
import { mutants } from './mutants.ts';
import { drawAll } from './pictures.ts';
import { fairNames, hostileNames, hostileProfiles, isFair, type Profile } from './profiles.ts';
import { type Outcome, simulate, type Wishes } from './simulate.ts';
import { Tally } from './tally.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1' },
    profile: { type: 'string', default: 'fair' },
    log: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    pictures: { type: 'boolean', default: false },
    share: { type: 'string' },
  },
});

/** What one process does of all: every so manieth seed. */
interface Share {
  readonly index: number;
  readonly count: number;
}

process.exitCode = await (values.mutants ? printMutants() : values.pictures ? drawAll() : runWorlds());

async function runWorlds(): Promise<number> {
  const profiles = profilesOf(values.profile);
  const [seed, runs] = [Number(values.seed), Number(values.runs)];
  if (values.share !== undefined) {
    const [index = 0, count = 1] = values.share.split('/').map(Number);
    await runShare(profiles, seed, runs, { index, count }, (outcome) => process.send?.(Tally.rowOf(outcome)));
    return 0;
  }
  const tally = new Tally(commit(), (line) => console.log(line));
  if (profiles.length * runs === 1) {
    const [profile] = profiles as [Profile];
    const outcome = await simulate(profile, seed, { ...(await wishes()), isLogKept: values.log });
    console.log(`profile ${profile}, seed ${seed}, options ${JSON.stringify(outcome.options)}`);
    for (const line of outcome.lines) console.log(line);
    tally.add(Tally.rowOf(outcome));
  } else {
    console.log(`profiles ${profiles.join(' ')}, seeds ${seed} to ${seed + runs - 1}: each alone prints its options`);
    await runEverywhere(tally);
  }
  for (const line of tally.summary()) console.log(line);
  const silent = profiles.filter((profile) => !isFair(profile) && !tally.hasFired(profile, firesOf(profile)));
  for (const profile of silent) console.log(`hostile profile ${profile}: no checker fired that should have`);
  return tally.unfair.length > 0 || silent.length > 0 ? 1 : 0;
}

async function runShare(
  profiles: readonly Profile[],
  seed: number,
  runs: number,
  { index, count }: Share,
  tell: (outcome: Outcome) => void,
): Promise<void> {
  for (let number = seed; number < seed + runs; number += 1) {
    if (number % count !== index) continue;
    for (const profile of profiles) tell(await simulate(profile, number, await wishes()));
  }
}

function runEverywhere(tally: Tally): Promise<unknown> {
  const count = os.availableParallelism();
  const shares = Array.from({ length: count }, (_, index) => {
    const worker = fork(process.argv[1] as string, [...process.argv.slice(2), '--share', `${index}/${count}`], {
      // They are heard, and told with the run that they belong to.
      execArgv: ['--no-warnings'],
    });
    worker.on('message', (row) => tally.add(row as ReturnType<typeof Tally.rowOf>));
    return new Promise<void>((resolve, reject) => {
      worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
    });
  });
  return Promise.all(shares);
}

/** The system under test: src/ as it is, or with one deliberate mistake. */
async function wishes(): Promise<Wishes> {
  if (values.mutant === undefined) return {};
  const mutant = mutants.find(({ name }) => name === values.mutant);
  if (!mutant) throw new Error(`no such mutant: ${values.mutant} (test/README.md lists them)`);
  return wishesFor(mutant);
}

function profilesOf(word: string): readonly Profile[] {
  if (word === 'fair') return fairNames;
  if (word === 'hostile') return hostileNames;
  const all: readonly string[] = [...fairNames, ...hostileNames];
  if (all.includes(word)) return [word as Profile];
  throw new Error(`no such profile: ${word} (fair, hostile, ${all.join(', ')})`);
}

function firesOf(profile: Profile): readonly string[] {
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
