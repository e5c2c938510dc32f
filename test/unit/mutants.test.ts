// Each mutant of the simulator has its place: its edits apply to the code as it is. It is asked
// here within milliseconds; what catches the mutants is played by the suite mutants.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutants } from '../sim/mutants.ts';

const source = path.join(import.meta.dirname, '../../src');
const edits = mutants.flatMap(({ name, edits: ofOne }) => ofOne.map((edit) => ({ name, ...edit })));

describe('the place of each mutant', () => {
  test.each(edits)('$name in $file', ({ file, from }) => {
    const text = readFileSync(path.join(source, file), 'utf8');
    expect(text.split(from).length - 1).toBe(1);
  });
});
