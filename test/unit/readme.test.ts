// docs/reference.md against the code: options, exit status, outcomes and environment stand once in
// the code, and the page must say the same. The tables between the markers are compared whole, so
// the failing test prints the text to put there. And the README stays short.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderHelp } from '../../src/cli/help.ts';
import { type OptionRow, optionTable } from '../../src/config/setting-table.ts';
import { verbTable } from '../../src/ctl/verb-table.ts';
import { alone } from '../../src/lock/types.ts';
import { childEnvironment } from '../../src/run/environment.ts';
import { exitCodesOf } from '../../src/text/errors.ts';
import { outcomeTable } from '../../src/text/outcomes.ts';

const root = path.resolve(import.meta.dirname, '../..');
const reference = readFileSync(path.join(root, 'docs/reference.md'), 'utf8');

function block(name: string): string {
  return new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)\n<!-- /${name} -->`).exec(reference)?.[1] ?? '';
}

const cell = (text: string) => text.replaceAll('|', '\\|');

function optionRow(row: OptionRow): string {
  const spellings = row.flags.split(', ').map((name) => `\`${name}\``);
  return `| ${cell(spellings.join(', '))} | ${cell(row.description)} |`;
}

describe('docs/reference.md', () => {
  it('has every option as the code has it', () => {
    const groups = [...new Set(optionTable.map(({ group }) => group))].map((group) => {
      const rows = optionTable.filter((row) => row.group === group).map(optionRow);
      return [`| ${group} | |`, '| --- | --- |', ...rows].join('\n');
    });
    expect(block('options')).toBe(groups.join('\n\n'));
  });

  it('has every exit code as the code has it', () => {
    const rows = exitCodesOf('run').map(([code, meaning]) => `| ${code} | ${cell(meaning)} |`);
    expect(block('exit-status')).toBe(['| code | when |', '| --- | --- |', ...rows].join('\n'));
  });

  it('has every outcome as the code has it', () => {
    const rows = Object.entries(outcomeTable).map(
      ([outcome, { meaning }]) => `| \`${outcome}\` | ${cell(meaning)} |`,
    );
    expect(block('outcomes')).toBe(['| outcome | when |', '| --- | --- |', ...rows].join('\n'));
  });

  it('has every variable that the command is given', () => {
    const claim = {
      ...alone,
      resources: ['r'],
      token: 'v',
      value: 'v',
      ttlMs: 1,
      isFenced: true,
      waiter: null,
    };
    const variables = Object.keys(
      childEnvironment({}, { claim, startedAt: 0, validUntil: 0, fence: 1 }, 1, '', false),
    );
    expect(variables.filter((name) => !reference.includes(`| \`${name}\` |`))).toEqual([]);
  });
});

it('README.md names the ports of compose.yaml', () => {
  const compose = readFileSync(path.join(root, 'compose.yaml'), 'utf8');
  const urls = [...compose.matchAll(/'127\.0\.0\.1:(\d+):6379'/g)].map(
    ([, port]) => `redis://127.0.0.1:${port}`,
  );
  expect(urls).toHaveLength(3);
  expect(readFileSync(path.join(root, 'README.md'), 'utf8')).toContain(
    `REDLOCK_MASTERS=${urls.join(',')}\n`,
  );
});

it('README.md has at most 1,200 words', () => {
  const args = readFileSync(path.join(root, 'README.md'), 'utf8').split(/\s+/);
  expect(args.length).toBeLessThanOrEqual(1_200);
});

it('README.md and docs/reference.md name the verbs without --json', () => {
  const without = verbTable.filter(({ options }) => !options.some(({ long }) => long === '--json'));
  const [first, second, ...others] = without.map(({ verb }) => verb);
  expect(others).toEqual([]);
  for (const file of ['README.md', 'docs/reference.md'])
    expect(readFileSync(path.join(root, file), 'utf8').replace(/\s+/g, ' ')).toContain(
      `All verbs but \`${first}\` and \`${second}\` take \`--json\``,
    );
});

it('--help has the table of exit codes', () => {
  for (const [code, meaning] of exitCodesOf('run'))
    expect(renderHelp()).toContain(`${code.padEnd(7)} ${meaning.slice(0, 40)}`);
});
