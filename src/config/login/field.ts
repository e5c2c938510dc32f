// One value about a login, and the text of the file that it names.

import { resolve } from 'node:path';
import { ConfigError, fileError } from '../../text/errors.ts';
import { quoted } from '../../text/quote.ts';
import type { Given } from '../keys.ts';
import { readTextFile } from '../text-file.ts';

/** A value, with what an error about it begins with and where its relative paths start. */
export type Field = Pick<Given, 'text' | 'subject' | 'base'>;

/** @throws ConfigError when the file cannot be read */
export async function readText({ text: file, base, subject }: Field): Promise<string> {
  try {
    return readTextFile(resolve(base, file)).toString();
  } catch (error) {
    throw new ConfigError(
      `${subject}: ${quoted(file)}: ${fileError(error)} (paths start from ${base})`,
    );
  }
}

/** @throws ConfigError */
export function notEmpty(text: string, subject: string): string {
  if (text === '') throw new ConfigError(`${subject}: empty (leave it out, or fill it in)`);
  return text;
}
