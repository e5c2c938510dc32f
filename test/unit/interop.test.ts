// docs/interop.md names every implementation that is run, with its version, masters and prefix.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { implementations } from '../interop/implementations.js';

const page = readFileSync('docs/interop.md', 'utf8');

test.each(implementations)('$title', ({ title, registry, masterCount, prefix, packages }) => {
  const [, name = '', version = '', kind = ''] = /^(\S+) (\S+?)(,.*)?$/.exec(title) ?? [];
  const shown = prefix === '' ? `''` : prefix.replace(':interop:', ':ENV:');
  expect(page).toContain(
    `| ${name}${kind} | ${version} | ${registry} | ${masterCount} | \`${shown}\` |`,
  );
  expect(packages.some((one) => one.includes(version))).toBe(true);
});

test('and no other', () => {
  const rows = page.match(/^\| .* \| (npm|Go|PyPI|Maven|crates\.io|\S+ source) \| /gm) ?? [];
  expect(rows).toHaveLength(implementations.length);
});
