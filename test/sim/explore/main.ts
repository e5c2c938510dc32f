// `npm run explore`: all schedules of the small worlds, a world on each core at a time; then the
// mutants in each of them, and the page of results. A broken property is told with the schedule
// that breaks it.

import { execFileSync, fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Command, Option } from 'commander';
import { checkout } from '../mutant-build.ts';
import { installAbort } from '../sim-abort.ts';
import { realSystem } from '../system.ts';
import { parsed, type Told, wholeNumberFrom } from '../tool-arguments.ts';
import { explore, type Limits } from './explorer.ts';
import { type Hunted, type Outcome, pageOf } from './page.ts';
import { settings } from './setting.ts';
import { buildSmallMutants, loadSmallMutant, smallMutants } from './small-mutants.ts';
import { wander } from './wander.ts';

/** What one process does. */
interface Job {
  readonly setting: string;
  /** These are hunted; null: src/ as it is, and all schedules. */
  readonly mutants: readonly string[] | null;
  readonly limits: Limits;
}

interface Wanted {
  readonly worlds: readonly string[];
  readonly mutant: string | null;
  readonly limits: Limits;
}

/** The most schedules in which a mutant is looked for in one world. */
const huntSchedules = 1_500;
const jobVariable = 'REDLOCK_RUN_EXPLORE_JOB';

const given = process.env[jobVariable];
if (given !== undefined) await run(JSON.parse(given) as Job);
else {
  const wanted = parse(process.argv.slice(2));
  if ('exitCode' in wanted) {
    process.exitCode = wanted.exitCode;
    (wanted.exitCode === 0 ? process.stdout : process.stderr).write(wanted.text);
  } else process.exitCode = await exploreAll(wanted);
}

async function run({ setting: name, mutants, limits }: Job): Promise<void> {
  // Node's own take a large part of the time.
  installAbort();
  const setting = settings.find((one) => one.name === name);
  if (setting === undefined) throw new Error(`no such world: ${name}`);
  if (mutants === null) {
    const exploration = await explore(setting, realSystem, limits);
    const { user, system } = process.cpuUsage();
    process.send?.({ setting: name, cpuSeconds: (user + system) / 1e6, exploration });
    return;
  }
  for (const mutant of smallMutants) {
    if (!mutants.includes(mutant.name)) continue;
    const system = await loadSmallMutant(mutant);
    const caught = await wander(setting, system, huntSchedules);
    process.send?.({ setting: name, mutant: mutant.name, caught });
  }
}

async function exploreAll({ worlds, mutant, limits }: Wanted): Promise<number> {
  const chosen = settings.filter(({ name }) => worlds.length === 0 || worlds.includes(name));
  const names = smallMutants.map(({ name }) => name);
  const hunt = (mutants: readonly string[]) => {
    buildSmallMutants();
    const jobs = chosen.map(({ name }) => ({ setting: name, mutants, limits }));
    return onAllCores<Hunted>(jobs, tellCaught);
  };
  if (mutant !== null) {
    const hunted = await hunt([mutant]);
    for (const { caught } of hunted) for (const line of caught?.schedule ?? []) console.log(line);
    return hunted.some(({ caught }) => caught) ? 0 : 1;
  }
  const outcomes = await onAllCores<Outcome>(
    chosen.map(({ name }) => ({ setting: name, mutants: null, limits })),
    tell,
  );
  const isSafe = outcomes.every(({ exploration }) => exploration.broken === null);
  if (worlds.length > 0) return isSafe ? 0 : 1;
  const hunted = await hunt(names);
  const page = path.join(checkout(), 'docs', 'results', 'explore.md');
  writeFileSync(
    page,
    pageOf(outcomes, hunted, { huntSchedules, args: process.argv.slice(2), commit: commit() }),
  );
  const missed = names.filter(
    (name) => !hunted.some((one) => one.mutant === name && one.caught !== null),
  );
  for (const name of missed) console.log(`${name} is caught in no world`);
  return isSafe && missed.length === 0 ? 0 : 1;
}

function tellCaught({ setting, mutant, caught }: Hunted): void {
  if (caught) console.log(`${mutant} is caught in ${setting} by ${caught.finding.property}`);
}

function tell({ setting, cpuSeconds, exploration }: Outcome): void {
  const { stateCount, stepCount, depth, isWhole, broken } = exploration;
  const end = isWhole ? 'to the end' : `every schedule of at most ${depth} steps`;
  const counts = `${stateCount} states, ${stepCount} steps, ${cpuSeconds.toFixed(0)} s`;
  console.log(`${setting}: ${broken ? 'BROKEN' : end} (${counts})`);
  if (!broken) return;
  console.log(`  ${broken.finding.property}: ${broken.finding.what}`);
  for (const line of broken.schedule) console.log(`    ${line}`);
}

/** Resolves with the outcomes, world by world, in the order of the worlds. */
async function onAllCores<Result>(
  jobs: readonly Job[],
  onOutcome: (outcome: Result) => void,
): Promise<Result[]> {
  const outcomes: Result[][] = [];
  const todo = [...jobs.entries()];
  const work = async () => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const [index, job] = next;
      outcomes[index] = await inProcess(job, onOutcome);
    }
  };
  await Promise.all(Array.from({ length: os.availableParallelism() }, work));
  return outcomes.flat();
}

function inProcess<Result>(job: Job, onOutcome: (outcome: Result) => void): Promise<Result[]> {
  return new Promise((resolve, reject) => {
    const child = fork(process.argv[1] as string, {
      env: { ...process.env, [jobVariable]: JSON.stringify(job) },
      execArgv: ['--no-warnings', '--max-old-space-size=8192'],
    });
    const outcomes: Result[] = [];
    child.on('message', (message) => {
      outcomes.push(message as Result);
      onOutcome(message as Result);
    });
    child.on('exit', (code) => {
      if (code === 0) resolve(outcomes);
      else reject(new Error(`the search of ${job.setting} ended with ${code}`));
    });
  });
}

function parse(argv: readonly string[]): Wanted | Told {
  const names = settings.map(({ name, what }) => `  ${name.padEnd(12)} ${what}`);
  const command = new Command()
    .description(
      'Plays every schedule of small worlds with the lock as it is, and checks every state. ' +
        'Without arguments: all worlds, all mutants, and docs/results/explore.md.',
    )
    .argument('[world...]', 'only these')
    .addOption(
      new Option('--mutant <name>', 'a lock with this mistake: a property must break').choices(
        smallMutants.map(({ name }) => name),
      ),
    )
    .option(
      '--states <number>',
      'end the search of a world after so many states',
      wholeNumberFrom(1),
    )
    .option('--depth <number>', 'play the schedules of at most so many steps', wholeNumberFrom(1))
    .addHelpText('after', `\nWorlds:\n${names.join('\n')}`);
  const wanted = parsed<Limits & { readonly mutant?: string }>('explore', command, argv, () => {
    for (const world of command.args)
      if (!settings.some(({ name }) => name === world))
        command.error(`error: no such world: ${world}`);
  });
  if ('exitCode' in wanted) return wanted;
  const { mutant = null, ...limits } = wanted;
  return { worlds: command.args, mutant, limits };
}

function commit(): string {
  const words = ['describe', '--always', '--dirty', '--abbrev=10'];
  return execFileSync('git', words, { cwd: checkout(), encoding: 'utf8' }).trim();
}
