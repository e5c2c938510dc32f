// Each mutant of the simulator has its place: its edits apply to the code as it is. So has each
// mistake of torture. It is asked here within milliseconds; what catches them is played by the
// suites mutants and long.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { mutants } from '../sim/mutants.ts';
import { mistakes } from '../torture/scenes.ts';

const source = path.join(import.meta.dirname, '../../src');
const all = [...mutants, ...mistakes];
const edits = all.flatMap(({ name, edits: ofOne }) => ofOne.map((edit) => ({ name, ...edit })));

describe('the place of each mutant', () => {
  test.each(edits)('$name in $file', ({ file, from }) => {
    const text = readFileSync(path.join(source, file), 'utf8');
    expect(text.split(from).length - 1).toBe(1);
  });
});
