// The command line of `npm run sim`, parsed. It runs nothing. Options without effect are errors as
// well, because a proof that ran no world looks like one that found no fault.

import { Command, InvalidArgumentError, Option } from 'commander';
import { mutants } from './mutants.ts';
import { fairNames, hostileNames, type Profile } from './profiles.ts';
import { parsed, type Told, wholeNumberFrom } from './tool-arguments.ts';

/** The part of all seeds that one process runs: every n-th. */
export interface Share {
  readonly index: number;
  readonly count: number;
}

export interface Wanted {
  readonly seed: number;
  readonly runs: number;
  readonly profile: readonly Profile[];
  readonly log?: true;
  /** A name; undefined: without any. */
  readonly mutant?: string;
  readonly mutants?: true;
  readonly pictures?: true;
  /** undefined: all of it. */
  readonly share?: Share;
}

const examples = `
Examples:
  npm run sim -- --profile fair --seed 1 --runs 100      no checker may fire
  npm run sim -- --profile hostile --seed 1 --runs 20    an assumption is broken: one must fire
  npm run sim -- --profile lossy --seed 4 --log          one run, told event by event

Exit status: 0 as expected; 1 a fair world broke a property, or a hostile one none; 64 usage error.

Profiles:
  fair: ${fairNames.join(', ')}
  hostile: ${hostileNames.join(', ')}`;

export function parseArguments(argv: readonly string[]): Wanted | Told {
  const command = new Command()
    .description(
      'Runs redlock-run as it is in worlds that follow from a seed, and checks what it promises.',
    )
    .addOption(
      new Option(
        '--profile <name>',
        'kind of world: fair (all of them), hostile (all of them), or one',
      )
        .argParser(profilesOf)
        .default(fairNames, 'fair'),
    )
    .option('--seed <number>', 'the first seed', wholeNumberFrom(0), 1)
    .option(
      '--runs <number>',
      'how many seeds, one after the other; of a hostile kind, until one fires',
      wholeNumberFrom(1),
      1,
    )
    .option('--log', 'tell one run event by event')
    .option(
      '--mutant <name>',
      'with this deliberate mistake, one of the table in test/README.md',
      mutantNamed,
    )
    .option('--mutants', 'hunt all mutants and print the table')
    .option('--pictures', 'draw the pictures of docs/')
    .addOption(new Option('--share <index/count>').argParser(shareOf).hideHelp())
    .addHelpText('after', examples);
  return parsed<Wanted>('sim', command, argv, ({ profile, runs, log }) => {
    const isOneRun = profile.length * runs === 1;
    if (log && !isOneRun) command.error("error: option '--log' needs one --profile and one run");
  });
}

function profilesOf(word: string): readonly Profile[] {
  if (word === 'fair') return fairNames;
  if (word === 'hostile') return hostileNames;
  const profile = [...fairNames, ...hostileNames].find((name) => name === word);
  if (profile === undefined) throw new InvalidArgumentError('(--help lists them)');
  return [profile];
}

function mutantNamed(word: string): string {
  if (mutants.some(({ name }) => name === word)) return word;
  throw new InvalidArgumentError('(test/README.md lists them)');
}

function shareOf(word: string): Share {
  const [index = 0, count = 1] = word.split('/').map(Number);
  return { index, count };
}
