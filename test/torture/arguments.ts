// The command line of `npm run torture`, parsed. It runs nothing.

import { Command, InvalidArgumentError, Option } from 'commander';
import { parsed, type Told, wholeNumberFrom } from '../sim/tool-arguments.ts';
import { mistakes, scenes } from './scenes.ts';

/** A deliberate fault, which the witness must find: of torture itself, or of the product. */
export const breaks = ['lock', 'guard', ...mistakes.map(({ name }) => name)];

export interface Wanted {
  /** When no new cell is started any more. */
  readonly minutes: number;
  /** Of the first cell; the next cell has the next number. */
  readonly seed: number;
  /** How many cells; undefined: as many as there is time for. */
  readonly cells?: number;
  /** How many cells run at a time. */
  readonly lanes: number;
  readonly break?: string;
  /** The name of the scene of all cells. */
  readonly scene?: string;
  /** A folder in which the logs of cells with findings are kept. */
  readonly keep?: string;
  /** Write docs/results/torture.md. */
  readonly page?: true;
}

const examples = `
Examples:
  npm run torture -- --minutes 10                    some hundred faults a minute
  npm run torture -- --seed 17 --cells 1             the cell of one seed again
  npm run torture -- --minutes 2 --break lock        a command without the lock, until it is found

A seed repeats the cell and its schedule of faults, but not what the machine makes of it.

Exit status: 0 no finding; 1 a finding; 64 usage error.`;

export function parseArguments(argv: readonly string[]): Wanted | Told {
  const wholeNumber = wholeNumberFrom(1);
  const command = new Command()
    .description('Runs of redlock-run on real servers, and faults: what do the commands witness?')
    .option('--minutes <number>', 'how long, a fraction is possible', minutes, 5)
    .option('--seed <number>', 'of the first cell; default: another one each time', wholeNumber)
    .option('--cells <number>', 'at most so many cells', wholeNumber)
    .option('--lanes <number>', 'so many cells at a time', wholeNumber, 2)
    .addOption(new Option('--break <what>', 'a mistake, until it is found').choices(breaks))
    .addOption(
      new Option('--scene <name>', 'this scene in all cells').choices(
        scenes.map(({ name }) => name),
      ),
    )
    .option('--keep <folder>', 'keep the logs of cells with findings there')
    .option('--page', 'write docs/results/torture.md')
    .addHelpText('after', examples);
  const wanted = parsed<Wanted>('torture', command, argv);
  return 'exitCode' in wanted ? wanted : { ...wanted, seed: wanted.seed ?? Date.now() % 1_000_000 };
}

function minutes(word: string): number {
  const number = Number(word);
  if (/^\d*\.?\d+$/.test(word) && number > 0 && number <= 1440) return number;
  throw new InvalidArgumentError('(more than 0, at most 1440)');
}
