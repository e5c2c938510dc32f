// Colours for people: lines with a tone, painted by chalk where colours are wanted (mayColour). It
// is loaded only there: most runs print nothing.

import { Chalk } from 'chalk';

export type Tone =
  | 'title'
  | 'head'
  | 'plain'
  | 'good'
  | 'held'
  | 'frozen'
  | 'bad'
  | 'doubtful'
  | 'dim';

export interface TonedLine {
  readonly text: string;
  readonly tone: Tone;
}

// With the sixteen colours that every terminal has, which its user may have chosen.
const chalk = new Chalk({ level: 1 });

const paints: Readonly<Record<Tone, (text: string) => string>> = {
  title: chalk.bold,
  head: chalk.bold,
  plain: (text) => text,
  good: chalk.green,
  held: chalk.yellow,
  frozen: chalk.cyan,
  bad: chalk.red,
  doubtful: chalk.yellow,
  dim: chalk.dim,
};

export function painted({ text, tone }: TonedLine): string {
  return paints[tone](text);
}

/** The beginning of the line about a wait. */
export const paintedWait: (head: string) => string = chalk.cyan;
