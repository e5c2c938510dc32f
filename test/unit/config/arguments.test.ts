// The command line: options and names, the words of the command, and refused words.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseArguments, type RunArguments } from '../../../src/config/arguments.ts';
import { optionTable } from '../../../src/config/setting-table.ts';
import { UsageError } from '../../../src/text/errors.ts';
import { anyText } from '../any-text.ts';

function run(...argv: string[]): RunArguments {
  const args = parseArguments(argv);
  if (args.kind !== 'run') throw new Error(`printed: ${args.kind}`);
  return args;
}

const value = (args: RunArguments, key: keyof RunArguments['options']['layer']['values']) =>
  args.options.layer.values[key]?.text;

describe('NAME and COMMAND', () => {
  test.each([
    [['job', '--', 'ls'], 'job', ['ls']],
    [
      ['job', '--', 'ls', '--ttl', '-v', '--', '', ' a b ', '--x=y'],
      'job',
      ['ls', '--ttl', '-v', '--', '', ' a b ', '--x=y'],
    ],
    [['--ttl', '5s', 'job', '--', '-n'], 'job', ['-n']],
    [['job', '--ttl', '5s', '--', 'ls'], 'job', ['ls']],
    [['job', '--', '--help'], 'job', ['--help']],
    [['job', 'ls', '-la'], 'job', ['ls', '-la']],
    [['job', '-w', '5', './x', '-n'], 'job', ['./x', '-n']],
    [['-n', 'job', './x', '-h'], 'job', ['./x', '-h']],
    [['-n', 'job', '-w', '0', './x', '--version'], 'job', ['./x', '--version']],
    [['job', 'ls', '', '--bogus', '--ttl=1'], 'job', ['ls', '', '--bogus', '--ttl=1']],
    [['job', '-c', 'a | b'], 'job', ['/bin/sh', '-c', 'a | b']],
    [['-c', 'a | b', 'job'], 'job', ['/bin/sh', '-c', 'a | b']],
    [['-c', 'a | b', 'job', '--'], 'job', ['/bin/sh', '-c', 'a | b']],
    [['job', '-c', ''], 'job', ['/bin/sh', '-c', '']],
    [['-', 'ls'], '-', ['ls']],
    [['help', 'ls'], 'help', ['ls']],
    [['run', '--', 'status'], 'run', ['status']],
    [['a "b" \'c\'\n🔒', '--', 'ls'], 'a "b" \'c\'\n🔒', ['ls']],
    [['a b', 'ls'], 'a b', ['ls']],
    [['n'.repeat(4096), 'ls'], 'n'.repeat(4096), ['ls']],
    [['__proto__', 'constructor'], '__proto__', ['constructor']],
  ])('%j', (argv, name, command) => expect(run(...argv)).toMatchObject({ names: [name], command }));

  test.each([
    [['a', 'b', '--', 'ls'], ['a', 'b'], ['ls']],
    [
      ['a', '-n', 'b', '--ttl', '5s', 'c', '--', 'ls', '--', 'd'],
      ['a', 'b', 'c'],
      ['ls', '--', 'd'],
    ],
    [['job', 'git', 'checkout', '--', 'f'], ['job', 'git', 'checkout'], ['f']],
  ])('%j: several names', (argv, names, command) =>
    expect(run(...argv)).toMatchObject({ names, command }),
  );

  it('passes everything after -- on unchanged', () => {
    fc.assert(
      fc.property(fc.array(anyText(), { minLength: 1 }), (command) => {
        expect(run('-v', 'job', '--', ...command).command).toEqual(command);
      }),
    );
  });

  it('passes everything from COMMAND on unchanged without -- too', () => {
    const args = fc.array(
      fc.oneof(fc.string(), fc.constantFrom(...optionTable.map((row) => row.long), '-n', '-h')),
    );
    fc.assert(
      fc.property(args, (rest) => {
        fc.pre(!rest.includes('--'));
        expect(run('job', 'ls', ...rest)).toMatchObject({
          names: ['job'],
          command: ['ls', ...rest],
        });
      }),
    );
  });
});

describe('options', () => {
  test.each([
    [['--ttl', '5s'], 'ttl', '5s'],
    [['--ttl=5s'], 'ttl', '5s'],
    [['--ttl', '1s', '--ttl', '2s'], 'ttl', '2s'],
    [['--prefix', ''], 'prefix', ''],
    [['--prefix='], 'prefix', ''],
    [['--prefix', '--ttl'], 'prefix', '--ttl'],
    [['-w', '5'], 'wait', '5'],
    [['-w5'], 'wait', '5'],
    [['--wait', '5'], 'wait', '5'],
    [['--timeout', '5'], 'wait', '5'],
    [['-w', '1', '--timeout', '2'], 'wait', '2'],
    [['--timeout', '2', '-w', '1'], 'wait', '1'],
    [['-n'], 'wait', '0'],
    [['--nonblock'], 'wait', '0'],
    [['--nb'], 'wait', '0'],
    [['--nonblocking'], 'wait', '0'],
    [['-n', '-w', '0'], 'wait', '0'],
    [['-n', '-w', '5'], 'wait', '0'],
    [['-w', 'forever', '-n'], 'wait', '0'],
    [['-en'], 'wait', '0'],
    [['-en'], 'shared', 'false'],
    [['-nw', '0s'], 'wait', '0'],
    [['-E', '0'], 'conflictExitCode', '0'],
    [['--conflict-exit-code', '7'], 'conflictExitCode', '7'],
    [['--jitter', '1m'], 'jitter', '1m'],
    [['--retry-count', '3'], 'retryCount', '3'],
    [['--retry-delay', '1s'], 'retryDelay', '1s'],
    [['--retry-jitter', '50ms'], 'retryJitter', '50ms'],
    [['-k', '2'], 'killAfter', '2'],
    [['--kill-after', '2'], 'killAfter', '2'],
    [['--signal', 'INT'], 'signal', 'INT'],
    [['--hold-at-least', '1m'], 'holdAtLeast', '1m'],
    [['--max-run', '1h'], 'maxRun', '1h'],
    [['--log-format', 'json'], 'logFormat', 'json'],
    [['--local'], 'local', 'true'],
    [['-s'], 'shared', 'true'],
    [['--shared'], 'shared', 'true'],
    [['-s', '-x'], 'shared', 'false'],
    [['-x', '-s'], 'shared', 'true'],
    [['-s', '-x', '-s'], 'shared', 'true'],
    [['--exclusive'], 'shared', 'false'],
    [['--slots', '3'], 'slots', '3'],
    [['--supersede'], 'supersede', 'true'],
    [['--replace'], 'replace', 'true'],
  ] as const)('%j before NAME, after NAME, before --', (options, key, text) => {
    expect(value(run(...options, 'job', 'ls'), key)).toBe(text);
    expect(value(run('job', ...options, 'ls'), key)).toBe(text);
    expect(value(run('job', ...options, '--', 'ls'), key)).toBe(text);
  });

  it('collects masters in their order, on both sides of NAME', () => {
    const masters = (...argv: string[]) =>
      run(...argv).options.layer.masters.map(({ text }) => text);
    expect(masters('--master', 'a', 'job', '--master=b', 'ls')).toEqual(['a', 'b']);
    expect(masters('--master', 'a', 'job', '--master=b', '--', 'ls')).toEqual(['a', 'b']);
  });

  it('knows config, report, dry run and verbosity', () => {
    const args = run('--config', 'c', '--report', 'r', '--dry-run', '-v', 'job', 'ls');
    expect(args).toMatchObject({
      dryRun: true,
      options: { config: 'c', report: 'r', verbosity: 'verbose' },
    });
    expect(run('-q', 'job', 'ls').options.verbosity).toBe('quiet');
    expect(run('job', 'ls')).toMatchObject({
      dryRun: false,
      options: { config: null, report: null, verbosity: 'normal', layer: { masters: [] } },
    });
    expect(run('job', 'ls').options.layer.values).toEqual({});
  });
});

describe('refuses', () => {
  test.each([
    [[], 'NAME: missing'],
    [['--'], 'NAME: missing'],
    [['--', 'ls'], 'NAME: missing'],
    [['-v'], 'NAME: missing'],
    [['job'], 'COMMAND: missing: "job" was taken for NAME'],
    [['-w', '5m', './backup.sh'], 'COMMAND: missing: "./backup.sh" was taken for NAME'],
    [['job', '--'], 'COMMAND: missing'],
    [['job', '-n'], 'COMMAND: missing'],
    [['', 'ls'], 'NAME: "": empty'],
    [['', '--', 'ls'], 'NAME: "": empty'],
    [['n'.repeat(4097), 'ls'], '4097 bytes long (at most 4096)'],
    [['n'.repeat(100_000), '--', 'ls'], '100000 bytes long (at most 4096)'],
    [['🔒'.repeat(1025), '--', 'ls'], '4100 bytes long'],
    [['a', 'b', 'a', '--', 'ls'], 'NAME: "a": given twice'],
    [
      ['{dep}:queue', 'ls'],
      'NAME: "{dep}:queue": is called like what the masters keep beside a lock',
    ],
    [['job', 'x}:history', '--', 'ls'], 'NAME: "x}:history": is called like'],
    [['a', '', '--', 'ls'], 'NAME: "": empty'],
    [
      [...Array.from({ length: 101 }, (_, index) => `n${index}`), '--', 'ls'],
      'NAME: 101 names (at most 100)',
    ],
    [['job', '--slots', '--', 'ls'], '--slots: no value (write --slots N)'],
    [['job', '-c', 'a', 'ls'], '--command: with COMMAND "ls": contradict each other'],
    [['job', '-c', 'a', '--', 'ls'], '--command: with COMMAND "ls"'],
    [['-w', 'job', '--', 'true'], '--wait: "job": not a duration'],
    [['--max-run', 'job', '--', 'true'], '--max-run: "job": not a duration'],
    [['-n', '-w', 'x', 'job', 'ls'], '--wait: "x": not a duration'],
    [['-q', '-v', 'job', 'ls'], '--quiet: with --verbose: contradict each other'],
    [['--ttl'], '--ttl: no value (write --ttl DUR)'],
    [['job', '-w'], '--wait: no value (write --wait DUR)'],
    [['job', '--hold-on'], '--hold-on: no value (write --hold-on success|always)'],
    [['job', '-w', '--', 'ls'], '--wait: no value (write --wait DUR)'],
    [['--local=yes', 'job', 'ls'], '--local: takes no value'],
    [['--tll', '5s', 'job', 'ls'], '"--tll": unknown option (did you mean --ttl?)'],
    [['--history', 'job', 'ls'], '"--history": unknown option (see --help)'],
    [['--tll=5s', 'job', 'ls'], '"--tll": unknown option (did you mean --ttl?)'],
    [['--nonb', 'job', 'ls'], '"--nonb": unknown option (did you mean --nonblock?)'],
    [['--excl', 'job', 'ls'], '"--excl": unknown option (did you mean --exclusive?)'],
    [['--fore', 'job', 'ls'], '"--fore": unknown option (did you mean --foreground?)'],
    [['job', '--tll', '5s', 'ls'], '"--tll": unknown option (did you mean --ttl?)'],
    [['job', '--mastre', 'x', '--', 'ls'], '"--mastre": unknown option (did you mean --master?)'],
    [['--zzzzzzzz', 'job', 'ls'], '"--zzzzzzzz": unknown option (see --help)'],
    [['-z', 'job', 'ls'], '"-z": unknown option (see --help)'],
    [['--bogus\nx', 'job', 'ls'], '"--bogus\\nx": unknown option'],
    [['--bogus', 'job', 'ls', '-h'], '"--bogus": unknown option'],
  ])('%j', (argv, message) => {
    expect(() => parseArguments(argv)).toThrow(UsageError);
    expect(() => parseArguments(argv)).toThrow(message);
    expect(() => parseArguments(argv)).toThrow(/^[^\n]{1,300}$/);
  });

  test.each([...['--json', '--server', '--insecure']])(
    '%s, which is promised for later or never',
    (option) => {
      expect(() => parseArguments([option, 'job', '--', 'ls'])).toThrow(
        `${JSON.stringify(option)}: unknown option`,
      );
    },
  );

  it('without showing a secret', () => {
    expect(() => parseArguments(['--mastre=redis://u:s3cr3t@h', 'job', 'ls'])).not.toThrow(
      's3cr3t',
    );
    expect(() => parseArguments(['redis://u:s3cr3t@h', 'redis://u:s3cr3t@h', '--', 'ls'])).toThrow(
      'redis://***@h',
    );
  });
});

describe('asks for', () => {
  test.each([
    [['-h']],
    [['job', '-h']],
    [['job', '--help', '--', 'ls']],
    [['-v', '--help', '--bogus']],
  ])('help by %j', (argv) => expect(parseArguments(argv)).toEqual({ kind: 'help' }));

  test.each([[['-V']], [['--version']], [['job', '-V', 'ls']]])('the version by %j', (argv) =>
    expect(parseArguments(argv)).toEqual({ kind: 'version' }),
  );
});

it('a suggestion never means the opposite', () => {
  const longs = optionTable.map(({ long }) => long);
  const opposites = longs.flatMap((long) => {
    const word = long.slice(2).replace(/^no(n?-|n)?(?=block|fence|history|foreground)/, '');
    const isNo = word !== long.slice(2);
    return (isNo ? [`--${word}`] : [`--no-${word}`, `--no${word}`]).map((flag) => ({ flag, isNo }));
  });
  for (const { flag, isNo } of opposites.filter(({ flag }) => !longs.includes(flag))) {
    const suggestion = /did you mean (--\S+)\?/.exec(messageOf([flag, 'job', 'ls']))?.[1];
    if (suggestion !== undefined) expect(/^--no(?!te\b|tify\b)/.test(suggestion), flag).toBe(!isNo);
  }
});

function messageOf(argv: string[]): string {
  try {
    run(...argv);
    return '';
  } catch (error) {
    return String(error);
  }
}
