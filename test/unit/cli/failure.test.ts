// The stack of a bundle, shown with the places in the sources.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { originalStack } from '../../../src/cli/failure.ts';

it('names the places in the sources where there is a map, and no others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'redlock-stack-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Column 11 of line 1 comes from line 3, column 5 of the second source.
  const map = {
    version: 3,
    sources: ['../src/a.ts', '../src/b.ts'],
    names: [],
    mappings: 'AAAA,UCEI',
  };
  writeFileSync(join(folder, 'main.js.map'), JSON.stringify(map));
  const frames = [`f (${folder}/main.js:1:11)`, `${folder}/other.js:1:2`, 'node:fs:1:1'];
  const stack = ['Error: x', ...frames].join('\n    at ');
  expect(originalStack(stack)).toBe(
    `Error: x\n    at f (src/b.ts:3:5)\n    at ${folder}/other.js:1:2\n    at node:fs:1:1`,
  );
});
