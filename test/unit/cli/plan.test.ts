// The whole output of --dry-run, without and with sources, and without any secret.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { renderPlan } from '../../../src/cli/plan.ts';
import { parseArguments } from '../../../src/config/arguments.ts';
import { resolveSettings } from '../../../src/config/settings.ts';
import { pemFile } from '../../servers/pem.ts';
import { createScratch, settle } from '../config/scratch.ts';

const masters = ['redis://u:s3cr3t@a', 'redis://b:7/2', 'unix:///run/c.sock'].flatMap((url) => [
  '--master',
  url,
]);

it('shows everything, aligned', async () => {
  expect(renderPlan(await settle({ flags: masters }))).toBe(
    [
      'name                "job"',
      'key                 "redlock:job"',
      'master              redis://***@a:6379',
      'master              redis://b:7/2',
      'master              unix:///run/c.sock',
      'quorum              2 of 3',
      'ttl                 30s',
      'drift               302ms',
      'extend every        10s',
      'stop at             23.698s',
      'stop signal         SIGTERM',
      'kill after          5s',
      'margin              1s',
      'master timeout      1.5s',
      'give up after       10s',
      'wait                forever',
      'conflict exit code  75',
      'jitter              0s',
      'hold at least       0s',
      'restart grace       30s',
      'differing masters   warn',
      'fencing             yes',
      'history             yes',
      'reentrant           no',
      'foreground          by terminal',
      'keep background     no',
      'isolate             no',
      'max run             none',
      'log format          text',
      'warning             --master: holds a password, which every user of this machine ' +
        'can see (use passwordFile, or REDLOCK_MASTERS)',
      'command             ["true"]',
      '',
    ].join('\n'),
  );
});

describe('with -v', () => {
  it('says where each value came from', async () => {
    const root = createScratch({ 'work/.redlockrc': 'prefix: "p:"\n\njitter: 5' });
    const environment = { REDLOCK_WAIT: '1m' };
    const plan = renderPlan(
      await settle({ flags: ['-v', ...masters, '--ttl', '1m'], environment }, root),
    );
    const lines = plan.replaceAll(root, '~').split('\n');
    for (const line of [
      'name                "job"                   argument NAME',
      'key                 "p:job"                 ~/work/.redlockrc:1',
      'master              redis://***@a:6379      flag --master',
      'quorum              2 of 3                  derived',
      'ttl                 1m                      flag --ttl',
      'kill after          5s                      default',
      'wait                1m                      environment REDLOCK_WAIT',
      'jitter              5s                      ~/work/.redlockrc:3',
      'command             ["true"]                argument COMMAND',
    ]) {
      expect(lines.map((found) => found.replace(/ {2,}/g, '  '))).toContain(
        line.replace(/ {2,}/g, '  '),
      );
    }
    expect(
      lines.some((line) => line.startsWith('config file') && line.includes('"~/work/.redlockrc"')),
    ).toBe(true);
    expect(lines.filter((line) => line !== line.trimEnd())).toEqual([]);
  });

  it('has an aligned third column', async () => {
    const lines = renderPlan(await settle({ flags: ['-v', ...masters] })).split('\n');
    const columns = new Set(
      lines.filter((line) => / (default|derived)$/.test(line)).map((line) => line.search(/\w+$/)),
    );
    expect(columns.size).toBe(1);
  });
});

it('has the instants of the timeline in docs/supervision.md', async () => {
  const plan = renderPlan(await settle({ flags: masters }));
  const secondsOf = (what: string) =>
    Number(new RegExp(`^${what} +([\\d.]+)s$`, 'm').exec(plan)?.[1]);
  const [extended, stopped] = [secondsOf('extend every'), secondsOf('stop at')];
  const killed = stopped + secondsOf('kill after');
  const instants = [0, extended, 2 * extended, stopped, killed, killed + secondsOf('margin')];
  const page = readFileSync(new URL('../../../docs/supervision.md', import.meta.url), 'utf8');
  const shown = [...instants, secondsOf('ttl')].map((s) => `${Number(s.toFixed(3))}s`);
  expect(page.replace(/ +/g, ' ')).toContain(`\n${shown.join(' ')}\n`);
});

it('shows local masters, warnings, a report and the words of the command as they are', async () => {
  const args = parseArguments([
    '--local',
    '--report',
    'r',
    'a "b"\n',
    '--',
    'x',
    '',
    ' y ',
    '--z=\u001b[31m',
    '"',
  ]);
  if (args.kind !== 'run') throw new Error('printed');
  const root = createScratch();
  const around = {
    environment: {},
    cwd: root,
    home: root,
    systemConfigFile: `${root}/none`,
  };
  const plan = renderPlan(await resolveSettings(args, around));
  expect(plan).toMatch(/^name +"a \\"b\\"\\n"$/m);
  expect(plan).toMatch(/^masters +local: /m);
  expect(plan).not.toMatch(/^quorum/m);
  expect(plan).toMatch(/^report +".*\/r"$/m);
  expect(plan).toMatch(/^command +\["x", "", " y ", "--z=\\u001b\[31m", "\\""\]$/m);
  expect(renderPlan(await settle({ flags: ['--master', 'a', '--master', 'b'] }))).toMatch(
    /^warning +even number of masters/m,
  );
});

it('never shows a secret', async () => {
  const root = createScratch({
    'work/.redlockrc':
      'masters:\n  - redis://u:s3cr3t@a\n  - {url: b, password: s3cr3t}\n' +
      '  - {url: "rediss://c", tls: {caFile: ca}}\npasswordFile: pw',
    'work/pw': 's3cr3t',
    'work/ca': `s3cr3t\n${readFileSync(pemFile('ca.pem'), 'utf8')}`,
  });
  const args = parseArguments([
    '-v',
    '--config',
    '.redlockrc',
    'job',
    '--',
    'curl',
    'https://u:s3cr3t@h/',
    '--url=redis://:s3cr3t@h',
  ]);
  if (args.kind !== 'run') throw new Error('printed');
  const around = {
    environment: {},
    cwd: `${root}/work`,
    home: undefined,
    systemConfigFile: `${root}/none`,
  };
  const settings = await resolveSettings(args, around);
  expect(settings.masters.map((master) => master.password)).toEqual(['s3cr3t', 's3cr3t', 's3cr3t']);
  const plan = renderPlan(settings);
  expect(plan).not.toContain('s3cr3t');
  expect(plan).toContain('https://u:***@h/');
  expect(
    JSON.stringify([
      settings.sources,
      settings.minorWarnings,
      settings.masters.map((master) => master.name),
    ]),
  ).not.toContain('s3cr3t');
});
