// What the workflows and .ci/run call exists: the scripts of package.json, the suites, and the
// options of the tools. A workflow is played by a forge only, and some of them at night.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseArguments as parseSim } from '../sim/arguments.ts';
import { parseArguments as parseTorture } from '../torture/arguments.ts';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const workflows = readdirSync(path.join(root, '.github/workflows'));
const files = [...workflows.map((name) => `.github/workflows/${name}`), '.ci/run'];
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
const config = read('vitest.config.ts');

/** The scripts that a text calls, each with the words behind `--`. */
function calls(text: string): (readonly [script: string, words: readonly string[]])[] {
  const found = text.matchAll(
    /\bnpm (?:run (?:--silent )?([\w:-]+)|(test))(?: -- ([^\n|&#\\]*))?/g,
  );
  return [...found].map(([, script, test, words = '']) => [
    script ?? test ?? '',
    words.split(' ').filter((word) => word !== ''),
  ]);
}

/** What a tool says of words that it does not take; null: it takes them. */
function refusalOf(script: string, words: readonly string[]): string | null {
  const parse = { sim: parseSim, torture: parseTorture }[script];
  const parsed = parse?.(words);
  return parsed && 'text' in parsed ? parsed.text : null;
}

/** What is called in a text and does not exist. */
function missing(text: string): string[] {
  const suites = [...text.matchAll(/--project ([\w-]+)/g)].map(([, name = '']) => name);
  return [
    ...calls(text).flatMap(([script, words]) =>
      script in scripts ? (refusalOf(script, words) ?? []) : [script],
    ),
    ...suites.filter((name) => !config.includes(`'${name}'`)),
  ];
}

describe('what is called exists', () => {
  it('what does not is seen', () => {
    const text = 'npm run none\nnpm test -- --project nowhere\nnpm run sim -- --profile calm --no';
    expect(missing(text)).toEqual(['none', expect.stringContaining('--no'), 'nowhere']);
  });

  it.each(files)('by %s', (file) => {
    expect(calls(read(file)).length).toBeGreaterThan(0);
    expect(missing(read(file))).toEqual([]);
  });
});

describe('the token that names the workflow to others', () => {
  interface Job {
    readonly permissions?: Readonly<Record<string, string>>;
    readonly steps: readonly { readonly run?: string }[];
  }
  const jobs = Object.fromEntries(
    workflows.flatMap((name) => {
      const { permissions, jobs } = parse(read(`.github/workflows/${name}`));
      const all = Object.entries<Job>(jobs);
      return all.map(([job, one]) => [`${name}: ${job}`, { permissions, ...one }] as const);
    }),
  );
  const having = Object.entries(jobs).filter(([, one]) => 'id-token' in (one.permissions ?? {}));
  const commands = ({ steps }: Job) => steps.flatMap(({ run = [] }) => run);

  it('is for the jobs that attest and publish to npm, which may change nothing else here', () => {
    expect(having.map(([name, { permissions }]) => [name, permissions])).toEqual([
      ['release.yml: attest', { 'id-token': 'write', attestations: 'write' }],
      ['release.yml: npm', { contents: 'read', 'id-token': 'write' }],
    ]);
  });

  it('is for no command but that of npm', () => {
    expect(having.flatMap(([, one]) => commands(one))).toEqual([
      'npm run release:publish -- --from release --part npm',
    ]);
  });
});

it('ci.yml fails where the hosts of the film cannot be played, before it plays them', () => {
  const [, words = ''] = /\[('--uts'[^\]]*)\]/.exec(read('test/pictures/hosts.ts')) ?? [];
  const options = words.replace(/[',]/g, '');
  const { steps } = parse(read('.github/workflows/ci.yml')).jobs.test;
  const [trial, tests] = steps.slice(-2);
  expect(trial.run).toContain(`unshare --map-root-user ${options} hostname h ||`);
  expect(trial.if).toBe("contains(matrix.suite, 'slow')");
  expect(tests.run).toContain('npm test');
});

it('the page of every schedule says how many states a night plays', () => {
  const [, count] =
    /npm run explore -- --states (\d+)/.exec(read('.github/workflows/night.yml')) ?? [];
  const nights = /up\nto ([\d,]+) states of each world/.exec(read('docs/results/explore.md'))?.[1];
  expect(nights?.replaceAll(',', '')).toBe(count);
});
