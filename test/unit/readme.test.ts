// The README against the code: options, exit status, configuration keys and environment stand once
// in the code, and the README must say the same. The tables between the markers are compared whole,
// so the failing test prints the text to put there.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { renderHelp } from '../../src/cli/help.ts';
import { type OptionRow, optionTable } from '../../src/config/options.ts';
import { alone } from '../../src/lock/types.ts';
import { childEnvironment } from '../../src/run/environment.ts';
import { outcomeTable } from '../../src/run/outcome.ts';
import { exitCodesOf } from '../../src/text/exit-codes.ts';

const readme = readFileSync(path.resolve(import.meta.dirname, '../../README.md'), 'utf8');

function block(name: string): string {
  return new RegExp(`<!-- ${name} -->\n([\\s\\S]*?)\n<!-- /${name} -->`).exec(readme)?.[1] ?? '';
}

const cell = (text: string) => text.replaceAll('|', '\\|');

function optionRow(row: OptionRow): string {
  const names = [row.short, row.long, ...(row.aliases ?? [])].filter((name) => name !== undefined);
  const spellings = names.map((name, index) => {
    const isLast = index === names.length - 1;
    return `\`${name}${isLast && row.argument !== undefined ? ` ${row.argument}` : ''}\``;
  });
  return `| ${spellings.join(', ')} | ${cell(row.description)} |`;
}

describe('README.md', () => {
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
      ([outcome, meaning]) => `| \`${outcome}\` | ${cell(meaning)} |`,
    );
    expect(block('outcomes')).toBe(['| outcome | when |', '| --- | --- |', ...rows].join('\n'));
  });

  it('has every variable that the command is given', () => {
    const claim = {
      ...alone,
      resources: ['r'],
      value: 'v',
      ttlMs: 1,
      isFenced: true,
      waiter: null,
    };
    const variables = Object.keys(
      childEnvironment({}, { claim, startedAt: 0, validUntil: 0, fence: 1 }),
    );
    expect(variables.filter((name) => !readme.includes(`| \`${name}\` |`))).toEqual([]);
  });
});

it('--help has the table of exit codes', () => {
  for (const [code, meaning] of exitCodesOf('run'))
    expect(renderHelp()).toContain(`${code.padEnd(7)} ${meaning.slice(0, 40)}`);
});
