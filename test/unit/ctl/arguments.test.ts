// The command line of redlockctl: what is accepted and refused, and that the tables of verbs and
// options agree.

import { describe, expect, it } from 'vitest';
import { renderHelp } from '../../../src/cli/help.ts';
import {
  parseArguments,
  renderHelp as renderCtlHelp,
  renderVerbHelp,
} from '../../../src/ctl/command-line.ts';
import { allOptions, takesNames, verbTable } from '../../../src/ctl/verb-table.ts';

function args(...argv: string[]) {
  const parsed = parseArguments(argv);
  if (parsed.kind !== 'verb') throw new Error('printed');
  return parsed;
}

it.each([
  [['status', 'a', 'b'], 'status', ['a', 'b']],
  [['--json', 'status', 'a'], 'status', ['a']],
  [['status', 'a', '--json'], 'status', ['a']],
  [['list'], 'list', []],
  [['--master', 'redis://h', 'list', 'x*'], 'list', ['x*']],
  [['status', '--', '--json'], 'status', ['--json']],
])('%j', (argv, verb, operands) => {
  expect(args(...argv)).toMatchObject({ row: { verb }, operands });
});

it('stop waits for a minute, and so says its help', () => {
  const stop = verbTable.find(({ verb }) => verb === 'stop');
  const help = stop === undefined ? '' : renderVerbHelp(stop).replace(/\s+/g, ' ');
  expect(help).toContain('for the release; 0 looks once (default: 1m)');
  expect(help).not.toContain('forever');
});

it.each([
  [[], 'VERB: missing'],
  [['help', 'statsu'], '"statsu": unknown verb (did you mean status?)'],
  [['statsu', '--help'], '"statsu": unknown verb (did you mean status?)'],
  [['statsu', 'a'], '"statsu": unknown verb (did you mean status?)'],
  [['tpo'], '"tpo": unknown verb (did you mean top?)'],
  [['foo'], '"foo": unknown verb (one of status, list, '], // Two letters of three are not top.
  [
    ['acquire', '{x}:queue'],
    'acquire: "{x}:queue": is called like what the masters keep beside a lock',
  ],
  [['hold', 'x}:fence'], 'hold: "x}:fence": is called like what'],
  [['status'], 'status: NAME... missing (write redlockctl status NAME...)'],
  [['break', 'a', 'b'], 'break: "b": unexpected argument'],
  [['wait', 'a', 'b'], 'wait: "b": unexpected argument (write redlockctl wait NAME)'],
  [
    ['extend', 'a', 'b'],
    'extend: "b": unexpected argument (write redlockctl extend NAME --token T)',
  ],
  [['status', ''], 'status: "": empty'],
  [['status', 'a', '--yes'], '--yes: not an option of status'],
  [['break', 'a', '--token'], '--token: no value (write --token T)'],
  [['list', '--jsno'], '"--jsno": unknown option (did you mean --json?)'],
  [['list', '--ttl', '3s'], '--ttl: not an option of list'],
  [['list', '--kill-after', '3s'], 'unknown option'],
  [
    ['freeze', '--note', '--master', 'redis://a'],
    '--note: "--master": is an option (write --note=--master if it is meant)',
  ],
  [['freeze', 'a', '--note', '--master=redis://a'], '--note: "--master=redis://a": is an option'],
  [['wait', 'a', '-w', '--json'], '-w: "--json": is an option'],
])('%j is refused: %s', (argv, message) => {
  expect(() => args(...argv)).toThrow(message);
});

describe.each(verbTable.filter(takesNames))('$verb', ({ verb }) => {
  it.each(['deploy-*', 'deploy-?', 'deploy-[ab]', '*'])(
    '%s is no name without --literal',
    (name) => {
      expect(() => args(verb, name)).toThrow(
        `${verb}: "${name}": a pattern, and ${verb} takes names only (redlockctl list "${name}" `,
      );
      expect(args('--literal', verb, name).operands).toEqual([name]);
      expect(args(verb, name, '--literal').operands).toEqual([name]);
    },
  );
});

it('all verbs with NAME take names only; list and top take patterns', () => {
  const others = verbTable.filter((row) => !takesNames(row)).map(({ verb }) => verb);
  expect(others).toEqual(['list', 'top', 'metrics', 'doctor', 'acl', 'local', 'completion']);
  for (const verb of ['list', 'top']) {
    expect(args(verb, 'deploy-*').operands).toEqual(['deploy-*']);
    expect(() => args(verb, 'a', '--literal')).toThrow('--literal: not an option of');
  }
});

it('a value like an option, with = or after --', () => {
  expect(args('freeze', 'a', '--note=--master').textOf('--note')).toBe('--master');
  expect(args('freeze', 'a', '--note', '-').textOf('--note')).toBe('-');
  expect(args('status', '--', '--note', '--master').operands).toEqual(['--note', '--master']);
});

it('switches and values of the verb', () => {
  const {
    has,
    textOf,
    options: flags,
  } = args('break', 'a', '-y', '--token', 'T', '--prefix', 'p:');
  expect([has('--yes'), has('--json'), textOf('--token'), flags.layer.values.prefix?.text]).toEqual(
    [true, false, 'T', 'p:'],
  );
});

it.each<[string[], string | undefined]>([
  [['help'], undefined],
  [['--help'], undefined],
  [['help', 'status'], 'status'],
  [['status', '--help'], 'status'],
  [['--help', 'status'], 'status'],
  [['acquire', 'x', '-h'], 'acquire'],
])('%j is help of %s', (argv, verb) => {
  const asked = parseArguments(argv);
  expect([asked.kind, asked.kind === 'help' && asked.row?.verb]).toEqual(['help', verb]);
});

it.each(verbTable)('the help of $verb has its options, and no other verb', (row) => {
  const help = renderVerbHelp(row);
  expect(help).toMatch(new RegExp(`^Usage: redlockctl ${row.verb}\\b`));
  for (const { long } of row.options) expect(help).toContain(`${long}`);
  for (const { verb } of verbTable.filter((other) => other !== row))
    expect(help).not.toContain(`redlockctl ${verb} `);
  expect(Math.max(...help.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100);
});

describe('--help', () => {
  it.each(allOptions.map(({ long, description }) => [long, description]))(
    'has %s',
    (long, description) => {
      expect(renderCtlHelp()).toContain(long);
      expect(renderCtlHelp()).toContain(description.slice(0, 40));
    },
  );

  it('has every verb, shares the texts of redlock-run, and has at most 100 columns', () => {
    for (const { verb, summary } of verbTable)
      expect(renderCtlHelp()).toMatch(
        new RegExp(`^  ${verb}[^\\n]*\\s+${summary.slice(0, 20)}`, 'm'),
      );
    const shared = renderHelp()
      .split('\n')
      .filter((line) => /^ +--(master|config|local|prefix) /.test(line));
    for (const line of shared) expect(renderCtlHelp()).toContain(line);
    expect(
      Math.max(
        ...renderCtlHelp()
          .split('\n')
          .map(({ length }) => length),
      ),
    ).toBeLessThanOrEqual(100);
  });
});
