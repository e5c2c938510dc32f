// The man pages against the programs: every option, key, verb and exit code stands in them in the
// words of --help, and a formatter accepts them without an error.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { block, paragraph, renderManual } from '../../../scripts/man-pages.ts';
import { renderHelp } from '../../../src/cli/help.ts';
import { environmentName, keyTable, optionTable } from '../../../src/config/setting-table.ts';
import { renderHelp as renderCtlHelp } from '../../../src/ctl/command-line.ts';
import { allOptions, verbTable } from '../../../src/ctl/verb-table.ts';
import { exitCodesOf } from '../../../src/text/errors.ts';

const pages = renderManual('1.2.3');
const page = (name: string) => plain(pages.get(name) ?? '');

/** The text without what only a formatter wants. */
function plain(roff: string): string {
  const signs: Record<string, string> = {
    '\\-': '-',
    '\\(dq': '"',
    '\\(aq': "'",
    '\\(ha': '^',
    '\\(ti': '~',
    '\\(ga': '`',
    '\\e': '\\',
    '\\&': '',
  };
  return roff
    .replace(/\\f[BR]/g, '')
    .replace(/\\(-|\((dq|aq|ha|ti|ga)|e|&)/g, (sign) => signs[sign] ?? sign);
}

/** --help without its line breaks. */
const flat = (help: string) => help.replace(/\s+/g, ' ');

describe('redlock-run(1)', () => {
  it.each(optionTable.map((row) => [row.long, row.description]))(
    'has %s in the words of --help',
    (long, description) => {
      expect(page('redlock-run.1')).toContain(`${description}\n`);
      expect(page('redlock-run.1')).toMatch(new RegExp(`^(-., )?${long}\\b.*$`, 'm'));
      expect(flat(renderHelp())).toContain(flat(description));
    },
  );

  it('has every exit code', () => {
    for (const [code, meaning] of exitCodesOf('run'))
      expect(page('redlock-run.1')).toContain(`${code}\n${meaning}\n`);
  });
});

describe('redlockctl(1)', () => {
  it.each(allOptions.map((row) => [row.long, row.description]))(
    'has %s in the words of --help',
    (long, description) => {
      expect(page('redlockctl.1')).toContain(`${description}\n`);
      expect(page('redlockctl.1')).toContain(long);
      expect(flat(renderCtlHelp())).toContain(flat(description));
    },
  );

  it('has every verb and every exit code', () => {
    for (const { verb, summary } of verbTable) {
      expect(page('redlockctl.1')).toMatch(new RegExp(`^\\.SH "${verb}`, 'm'));
      expect(page('redlockctl.1')).toContain(`${summary}.\n`);
    }
    for (const [code, meaning] of exitCodesOf('ctl'))
      expect(page('redlockctl.1')).toContain(`${code}\n${meaning}\n`);
  });
});

it.each(keyTable.map((row) => [row.key, row.description]))(
  'redlockrc(5) has %s',
  (key, description) => {
    expect(page('redlockrc.5')).toContain(`.TP\n${key}\n${description} (default: `);
    if (key !== 'tls')
      expect(page('redlockrc.5')).toContain(`Environment: ${environmentName(key)}.`);
  },
);

it('the package installs every page', () => {
  const file = path.resolve(import.meta.dirname, '../../../package.json');
  const { man } = JSON.parse(readFileSync(file, 'utf8'));
  expect(man).toEqual([...pages.keys()].map((name) => `dist/man/${name}`));
});

it('what could be a command of the formatter is text', () => {
  expect(paragraph('.so /etc/passwd')).toContain('\\&.so /etc/passwd');
  expect(block(["'br \\fB"])).toContain('\\&\\(aqbr \\efB');
});

const hasGroff = spawnSync('groff', ['--version']).status === 0;

it.skipIf(!hasGroff).each([...pages])(
  'groff takes %s without a complaint, and shows it whole',
  (_, text) => {
    const { stdout, stderr, status } = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-P-cbou'], {
      input: text,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(/^NAME\n +redlock/m);
    expect(stdout).toMatch(/SEE ALSO\n +redlock/);
  },
);
