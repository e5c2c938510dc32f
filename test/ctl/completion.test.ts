// Completion in the shells of this machine: the printed script, called as the shell calls it, with
// locks on real masters. The candidates for given words are tested in unit/ctl.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, test } from 'vitest';
import { verbNames } from '../../src/ctl/verb-table.ts';
import { environmentFor, takeBy, useMasters } from '../cli/rig.ts';
import { echo, startHostile } from '../servers/hostile-master.ts';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { ctl } from './rig.ts';

const { masters } = useMasters(1);
/** Long enough that a slow machine still offers names. */
const unhurried = { REDLOCK_MASTER_TIMEOUT: '8s' };
const program = fileURLToPath(new URL('../../bin/redlockctl.js', import.meta.url));

beforeEach(async () => {
  for (const name of ['deploy:eu', 'deploy:us', 'a b']) await takeBy('them', masters, name);
});

/**
 * Runs a script of a shell in which redlockctl is a command, in a folder where `./.completion` is
 * what it prints for this shell.
 */
async function shell(file: string, script: string): Promise<string[]> {
  const folder = mkdtempSync(join(scratchFolder(), 'shell-'));
  writeFileSync(
    join(folder, 'redlockctl'),
    `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`,
  );
  chmodSync(join(folder, 'redlockctl'), 0o755);
  const { stdout } = await ctl(masters, ['completion', file]);
  writeFileSync(join(folder, '.completion'), stdout);
  const env = {
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    ...environmentFor(masters),
    ...unhurried,
  };
  const text = execFileSync(file, ['-c', script], {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: generous(20_000),
  });
  return text.split('\n').filter((line) => line !== '');
}

const bash = (line: string) => {
  const typed = `'${line.replaceAll("'", "'\\''")}'`;
  const asking = [
    `COMP_LINE=${typed}; COMP_POINT=\${#COMP_LINE}; _redlock_complete`,
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ].join('; ');
  return shell('bash', `set -u; source ./.completion; ${asking}; ls`);
};

const asksFor = (file: string) => spawnSync(file, ['--version']).status !== 0;

test.skipIf(asksFor('bash')).each([
  ['redlockctl st', ['status', 'stop']],
  ['redlockctl status ', ['a\\ b', 'deploy:eu', 'deploy:us']],
  ['redlockctl status deploy:', ['eu', 'us']],
  ['redlock-run --non', ['--nonblock']],
  ['redlock-run dep', ['deploy:eu', 'deploy:us']],
  ['redlock-run job -- redlockc', []],
  ['redlockctl nonsense', []],
  ['redlockctl --master unix:///nowhere status ', []],
  ['redlockctl status $(touch typed) ', ['a\\ b', 'deploy:eu', 'deploy:us']],
])('bash: %s', async (line, args) => {
  expect((await bash(line)).filter((word) => word !== 'redlockctl')).toEqual(args);
});

// The same in fish, which is asked for the candidates, and in zsh, in which they are typed: the
// line as it stands after Tab.

const verbs = verbNames.filter((verb) => verb.startsWith('st'));
const lines: readonly (readonly [line: string, words: readonly string[], after: string])[] = [
  ['redlockctl st', verbs, 'redlockctl st'],
  ['redlockctl redlockc', [], 'redlockctl redlockc'],
  ['redlock-run --non', ['--nonblock'], 'redlock-run --nonblock'],
  ['redlock-run --log-format j', ['json'], 'redlock-run --log-format json'],
  ['redlock-run deploy:e', ['deploy:eu'], 'redlock-run deploy:eu'],
  ['redlockctl status a', ['a b'], 'redlockctl status a\\ b'],
  ['redlock-run job -- mkfif', ['mkfifo'], 'redlock-run job -- mkfifo'],
  ['redlock-run -n job mkfif', ['mkfifo'], 'redlock-run -n job mkfifo'],
  ['redlock-run --config redlockc', ['redlockctl'], 'redlock-run --config redlockctl'],
];

test.skipIf(asksFor('fish')).each(lines)('fish: %s', async (line, words) => {
  const found = await shell('fish', `source ./.completion; complete -C "${line}"`);
  expect(found.map((one) => one.split('\t')[0]).sort()).toEqual([...words].sort());
});

test.skipIf(asksFor('zsh')).each(lines)('zsh: %s', async (line, _, after) => {
  // zpty is a terminal; the widget prints the line when completion is over.
  const setUp = [
    'unsetopt beep list_beep; autoload -Uz compinit; compinit -u -D',
    'source ./.completion',
    'show() { zle complete-word; print -r -- "<$BUFFER>" >new; mv new line; }',
    "zle -N show; bindkey '^I' show; touch ready",
  ];
  const script = [
    'zmodload zsh/zpty; zpty shell zsh -f -i',
    ...setUp.map((one) => `zpty -w shell '${one.replaceAll("'", "'\\''")}'`),
    'wait_for() { until [[ -e $1 ]]; do zpty -r -t shell out; sleep 0.1; done }',
    'wait_for ready',
    `zpty -w -n shell '${line}'$'\\t'; wait_for line; zpty -d shell; cat line`,
  ];
  const typed = await shell('zsh', script.join('\n'));
  expect(typed.map((one) => one.replace(/ >$/, '>'))).toEqual([`<${after}>`]);
});

test('no name with a leading dash or with control characters is offered', async () => {
  for (const name of [
    '--on-lost=touch /tmp/x',
    '-n',
    'a\u001b[31m',
    'b\u009b31m',
    'c\u202e',
    'd\ufeff',
    'e\nf',
  ])
    await takeBy('them', masters, name);
  const { stdout } = await ctl(masters, ['completion', 'words', '--', 'redlock-run', ''], {
    env: unhurried,
  });
  expect(stdout.trimEnd().split('\n')).toEqual(['a b', 'deploy:eu', 'deploy:us']);
});

test('a name that a verb takes for a pattern is offered with --literal only', async () => {
  await takeBy('them', masters, 'deploy*');
  const offered = async (...typed: string[]) => {
    const args = ['completion', 'words', '--', ...typed, 'deploy'];
    return (await ctl(masters, args, { env: unhurried })).stdout.trimEnd().split('\n').sort();
  };
  const all = ['deploy*', 'deploy:eu', 'deploy:us'];
  expect(await offered('redlockctl', 'stop')).toEqual(['deploy:eu', 'deploy:us']);
  expect(await offered('redlockctl', 'stop', '--literal')).toEqual(all);
  expect(await offered('redlock-run')).toEqual(all);
});

test('configuration is read from the home directory, not from the working directory', async () => {
  const folder = mkdtempSync(join(scratchFolder(), 'work-'));
  const [planted, home] = [await startHostile(echo), mkdtempSync(join(scratchFolder(), 'home-'))];
  writeFileSync(join(folder, '.redlockrc'), `masters: ['${planted.url}']\n`);
  mkdirSync(join(folder, 'inside'));
  const args = ['completion', 'words', '--', 'redlockctl', 'status', 'dep'];
  const env = { ...unhurried, HOME: home, REDLOCK_MASTERS: undefined, REDLOCK_CONFIG: undefined };
  const options = { env };
  writeFileSync(join(home, '.redlockrc'), `masters: ['${masters[0]?.url}']\n`);
  for (const cwd of [folder, join(folder, 'inside')]) {
    const { stdout } = await ctl(masters, args, { ...options, cwd });
    expect(stdout).toBe('deploy:eu\ndeploy:us\n');
  }
  expect(planted.commands).toEqual([]);
  const named = [
    'completion',
    'words',
    '--',
    'redlockctl',
    '--config',
    join(folder, '.redlockrc'),
    'status',
    '',
  ];
  await ctl(masters, named, { ...options, cwd: folder });
  expect(planted.commands.length).toBeGreaterThan(0);
});

test('an unknown shell is a usage error; candidates never fail', async () => {
  expect(await ctl(masters, ['completion', 'csh'])).toMatchObject({ code: 64 });
  const args = ['completion', 'words', '--', 'redlockctl', '--nonsense', 'status', ''];
  expect(await ctl([{ url: 'unix:///nowhere' }], args)).toMatchObject({
    code: 0,
    stdout: '',
    stderr: '',
  });
});

test.skipIf(asksFor('bash'))('bash offers commands, and files only for files', async () => {
  // One of the words is what `ls` prints of the folder.
  for (const line of ['redlock-run job -- redlockc', 'redlock-run -n job redlockc']) {
    const [file, ...commands] = await bash(line);
    expect(file).toBe('redlockctl');
    // Others may be on the PATH of this machine.
    expect([...new Set(commands)]).toEqual(['redlockctl']);
  }
  expect(await bash('redlock-run --config redlockc')).toEqual(['redlockctl', 'redlockctl']);
  expect(await bash('redlockctl redlockc')).toEqual(['redlockctl']);
});
