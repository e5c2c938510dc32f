// What the command lines of the tools in test/ have in common: a tool called by `npm run NAME --`
// prints its help, or one line about what cannot be meant.

import { type Command, CommanderError, InvalidArgumentError } from 'commander';

/** Nothing is to be run: a text is to be shown. */
export interface Told {
  readonly text: string;
  readonly exitCode: number;
}

export const usageExitCode = 64;

/**
 * The options that are wanted, or what is to be shown. `check` sees them, and may end with
 * `command.error`. `name`: that of the tool, in front of errors.
 */
export function parsed<Wanted extends object>(
  name: string,
  command: Command,
  argv: readonly string[],
  check: (wanted: Wanted) => void = () => {},
): Wanted | Told {
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  command
    .name(`npm run ${name} --`)
    .showSuggestionAfterError(false)
    .configureOutput({
      writeOut: write,
      writeErr: write,
      outputError: (line) => write(line.replace(/^error: /, `${name}: `).replace(/\n(?=.)/g, ' ')),
    })
    .exitOverride();
  try {
    const wanted = command.parse(argv, { from: 'user' }).opts<Wanted>();
    check(wanted);
    return wanted;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { text, exitCode: error.exitCode === 0 ? 0 : usageExitCode };
  }
}

/** For an option whose value is a whole number, `least` or more. */
export function wholeNumberFrom(least: number): (word: string) => number {
  return (word) => {
    const number = Number(word);
    if (/^\d+$/.test(word) && Number.isSafeInteger(number) && number >= least) return number;
    throw new InvalidArgumentError(`(a whole number, ${least} or more)`);
  };
}
