// Tests docs/operations.md: the transcript command by command, every recipe with substitutes for
// the programs that it names, and the fields of the JSON. A recipe is read from the page as its own
// tool would read it, so a mistake in the page fails here.

import { execFile, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { environmentFor, locksOn, useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { missedFor, took } from './history-rig.ts';
import { answerOf, ctl, hold } from './rig.ts';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const programs = fileURLToPath(new URL('../../bin/', import.meta.url));
const rig = useMasters(3);
const { masters } = rig;
let folder: string;
let env: Record<string, string>;

beforeEach(() => {
  folder = mkdtempSync(join(scratchFolder(), 'recipe-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const place = (path: string, script: string) => {
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  };
  for (const name of ['redlock-run', 'redlockctl'])
    place(join(bin, name), `exec '${process.execPath}' '${programs}${name}.js' "$@"`);
  place(join(bin, 'npm'), 'true');
  place(join(bin, 'backup'), 'echo "backed up under $REDLOCK_NAME"');
  place(
    join(bin, 'worker'),
    'trap "echo told to stop; exit 0" TERM; echo working; while :; do sleep 0.1; done',
  );
  place(join(folder, 'deploy.sh'), 'echo deployed');
  place(join(folder, 'build.sh'), 'echo built');
  place(join(folder, 'migrate.sh'), 'echo "$1 $2" | sed "s/[0-9]\\{16\\}/FENCE/"');
  env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, ...environmentFor(masters) };
});

/** The code blocks under a heading. */
function blocks(heading: string): string[] {
  const [section = ''] = page.split(`### ${heading}\n`)[1]?.split(/\n##+ /) ?? [];
  return [...section.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, code = '']) => code);
}

const block = (heading: string) => blocks(heading)[0] ?? '';

/** What this command prints, run without a shell. */
async function exec([file = '', ...args]: readonly string[]): Promise<string> {
  return (await promisify(execFile)(file, args, { cwd: folder, env, timeout: generous(20_000) }))
    .stdout;
}

const shell = (script: string, ...program: string[]) =>
  exec([...(program.length > 0 ? program : ['sh', '-c']), script]);

describe('recipes: jobs and services', () => {
  test('cron: runs, and skips silently when another host has the lock', async () => {
    const line = block('cron')
      .trim()
      .replace(/^(\S+ +){5}/, '');
    expect(await shell(line)).toBe('backed up under nightly-backup\n');
    expect(await locksOn(masters[0] as never)).toEqual(['redlock:nightly-backup']);
    expect(await shell(`${line} 2>&1`)).toBe('');
  });

  test('once a day: retried by the next host only when it failed', async () => {
    const [line = '', alarm = ''] = blocks('Once a day, and again when it failed').map((text) =>
      text.trim().replace(/^(\S+ +){5}/, ''),
    );
    const report = (script: string) => {
      writeFileSync(join(folder, 'bin', 'report'), `#!/bin/sh\n${script}\n`);
      chmodSync(join(folder, 'bin', 'report'), 0o755);
    };
    report('echo failed; exit 3');
    await expect(shell(line)).rejects.toMatchObject({ code: 3, stdout: 'failed\n' });
    await expect(shell(alarm)).rejects.toMatchObject({ code: 1 });
    report('echo reported');
    expect(await shell(line)).toBe('reported\n');
    expect(await shell(`${line} 2>&1`)).toBe('');
    const leftMs = await masters[0]?.command('pttl', 'redlock:daily-report');
    expect(Number(leftMs)).toBeGreaterThan(19.9 * 3_600_000);
    expect(await shell(`${alarm} 2>&1`)).toBe('');
  });

  test('a service that leads: ready when it has the lock; then the next host', async () => {
    const [unit = '', deployment = ''] = blocks('A service that leads while it holds the lock');
    const ready = join(folder, 'ready');
    writeFileSync(join(folder, 'bin', 'systemd-notify'), `#!/bin/sh\necho "$@" >> ${ready}\n`);
    chmodSync(join(folder, 'bin', 'systemd-notify'), 0o755);
    const [, command = ''] = /^ExecStart=\/usr\/bin\/(.*)$/m.exec(unit) ?? [];
    const startUnit = () =>
      spawn('sh', ['-c', `exec ${command.replaceAll('$$', '$')}`], { cwd: folder, env });
    const told = () => (existsSync(ready) ? readFileSync(ready, 'utf8') : '');
    const first = startUnit();
    await eventually('ready', async () => told() === '--ready\n', 10_000);
    const second = startUnit();
    const waiting = () => masters[0]?.command('zcard', '{redlock:importer}:queue');
    await eventually('stands by', async () => (await waiting()) === 1, 10_000);
    expect(told()).toBe('--ready\n');
    first.kill('SIGTERM');
    await eventually('the next one is ready', async () => told() === '--ready\n--ready\n', 10_000);
    const ended = new Promise((resolve) => second.once('exit', resolve));
    second.kill('SIGTERM');
    await ended;

    const { spec } = parse(deployment).spec.template;
    const [container] = spec.containers;
    const leads = join(folder, 'leads');
    const [file = '', ...args] = container.command.map((word: string) =>
      word.replaceAll('/tmp/leads', leads),
    );
    expect(container.readinessProbe.exec.command).toEqual(['test', '-e', '/tmp/leads']);
    const pod = spawn(file, args, { cwd: folder, env });
    await eventually('leads', async () => existsSync(leads), 10_000);
    const over = new Promise((resolve) => pod.once('exit', resolve));
    pod.kill('SIGTERM');
    await over;
    await eventually('leads no longer', async () => !existsSync(leads), 10_000);
  });

  test('systemd: the service and its unit file', async () => {
    const [service = '', timer = ''] = blocks('systemd timer');
    const [, start = ''] = /^ExecStart=\/usr\/bin\/(.*)$/m.exec(service) ?? [];
    expect(await exec(start.split(' '))).toBe('backed up under nightly-backup\n');
    const [, code] = /^SuccessExitStatus=(\d+)$/m.exec(service) ?? [];
    await hold(masters, 'nightly-backup');
    const busy = spawnSync('sh', ['-c', start.replace('10m', '0')], { cwd: folder, env });
    expect(String(busy.status)).toBe(code);
    expect(timer).toMatch(/^OnCalendar=/m);
  });
});

const hasCurl = spawnSync('curl', ['--version']).status === 0;
if (!hasCurl) process.stderr.write('  SKIPPED: recipes of hooks: no curl\n');

/** Answers every request with 200; `paths` and `bodies` are those of the requests, in order. */
async function webServer(onRequest: (path: string) => void = () => {}) {
  const [paths, bodies] = [[] as string[], [] as string[]];
  const server = createServer(async (request, response) => {
    bodies.push(await text(request));
    paths.push(request.url ?? '');
    onRequest(request.url ?? '');
    response.end('OK');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, paths, bodies, [Symbol.dispose]: () => void server.close() };
}

describe.skipIf(!hasCurl)('recipes: hooks', () => {
  test.each([
    [0, '/0'],
    [3, '/3'],
  ])('healthchecks.io: the start, and the end with status %i', async (status, end) => {
    const started = join(folder, 'started');
    const check = '/5d1ad9c5-0000-4000-8000-5a7c0ba2d1f3';
    using server = await webServer((path) => path.endsWith('/start') && writeFileSync(started, ''));
    const waits = `until [ -e '${started}' ]; do sleep 0.05; done; exit ${status}`;
    writeFileSync(join(folder, 'bin', 'backup'), `#!/bin/sh\n${waits}\n`);
    const line = block('healthchecks.io').replace('https://hc-ping.com', server.url);
    if (status === 0) expect(await shell(line)).toBe('');
    else await expect(shell(line)).rejects.toMatchObject({ code: status });
    await expect.poll(() => server.paths).toEqual([`${check}/start`, check + end]);
  });

  test('Slack: one line for a deployment that failed, none for others', async () => {
    using server = await webServer();
    env = { ...env, SLACK_WEBHOOK: `${server.url}/services/T0/B0/x` };
    const line = block('Slack');
    expect(await shell(line)).toBe('deployed\n');
    writeFileSync(join(folder, 'deploy.sh'), '#!/bin/sh\nexit 3\n');
    await expect(shell(line)).rejects.toMatchObject({ code: 3 });
    await expect.poll(() => server.bodies.length).toBe(1);
    expect(JSON.parse(server.bodies[0] ?? '')).toEqual({
      text: expect.stringMatching(/^deploy: ran, status 3 after \d+ ms$/),
    });
  });
});

describe('recipes: pipelines and deployments', () => {
  test('GitHub Actions: every step, as its runner runs it', async () => {
    const { jobs } = parse(block('GitHub Actions'));
    const texts: string[] = [];
    for (const step of jobs.deploy.steps)
      texts.push(await shell(step.run, 'bash', '-e', '-o', 'pipefail', '-c'));
    expect(texts).toEqual(['', 'deployed\n']);
  });

  test('GitLab CI', async () => {
    const { deploy } = parse(block('GitLab CI'));
    expect(await shell(deploy.script.join('\n'))).toBe('deployed\n');
    expect(deploy.retry.exit_codes).toEqual([69, 75]);
  });

  test('Jenkins', async () => {
    const [, script = ''] = /sh '(.*)'/.exec(block('Jenkins')) ?? [];
    expect(await shell(script)).toBe('deployed\n');
  });

  test('Kubernetes: the command of the container, without a shell', async () => {
    const { spec } = parse(block('Kubernetes CronJob'));
    const [container] = spec.jobTemplate.spec.template.spec.containers;
    expect(await exec(container.command)).toBe('backed up under nightly-backup\n');
  });

  test('a deploy script', async () => {
    expect(await shell(block('A deploy script'))).toMatch(
      /^built\n--fence FENCE\ndeployed\n"deploy-production": free\n/,
    );
  });

  const canBeFirst = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0;

  test.skipIf(!canBeFirst)(
    'a container: as process 1, TERM reaches the job and the lock is released',
    async () => {
      const [, args = '[]'] =
        /^ENTRYPOINT (.*)$/m.exec(block('A container whose first process is redlock-run')) ?? [];
      // The shell tells the pid outside of the namespace of what becomes process 1 in it.
      const container = spawn('unshare', ['--pid', '--fork', '--mount-proc', ...JSON.parse(args)], {
        cwd: folder,
        env,
      });
      const exited = new Promise((resolve) => container.once('exit', resolve));
      let said = '';
      container.stdout.on('data', (data) => {
        said += data;
      });
      await eventually('it works', () => said.includes('working'), 10_000);
      const children = readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8')
        .trim()
        .split(' ');
      process.kill(Number(children[0]), 'SIGTERM');
      await exited;
      expect(said).toBe('working\ntold to stop\n');
      expect(await locksOn(masters[0] as never)).toEqual([]);
    },
  );
});

describe('recipes: a job of several steps', () => {
  test('a job of several steps: held throughout, and free at the end', async () => {
    const script = block('A job of several steps').replace(
      './build.sh',
      'redlockctl status deploy-production || true',
    );
    const words = (await shell(script)).split('\n');
    expect(words[0]).toMatch(/^"deploy-production": held by /);
    expect(words.slice(-4)).toEqual([
      expect.stringMatching(/^held: "deploy-production": for another (20|19)m/),
      'deployed',
      'released: "deploy-production"',
      '',
    ]);
    for (const master of masters) expect(await locksOn(master)).toEqual([]);
  });

  test('several steps, held in the background: released at the end or when killed', async () => {
    const [, script = ''] = blocks('A job of several steps');
    const says = await shell(
      script.replace('./build.sh', 'redlockctl status deploy-production || true'),
    );
    expect(says).toMatch(
      /^"deploy-production": held by .*redlockctl hold(.*\n)*held: .*\ndeployed\nreleased: .*\n$/,
    );
    for (const master of masters) expect(await locksOn(master)).toEqual([]);
    const killed = script.replace('./build.sh', () => 'kill -9 $$');
    await expect(shell(killed)).rejects.toMatchObject({ signal: 'SIGKILL' });
    await eventually(
      'released',
      async () => (await locksOn(masters[0] as never)).length === 0,
      3_000,
    );
  });

  test('several steps on GitHub: one shell each, held from the second to the last', async () => {
    const [, text = ''] = /<!-- steps:github -->\n```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const { jobs } = parse(text);
    const file = join(folder, 'github-env');
    writeFileSync(file, '');
    env = { ...env, GITHUB_ENV: file, REDLOCK_NAME: jobs.deploy.env.REDLOCK_NAME };
    const texts: string[] = [];
    const counts: number[] = [];
    for (const step of jobs.deploy.steps) {
      texts.push(await shell(step.run, 'bash', '-e', '-o', 'pipefail', '-c'));
      for (const [, name = '', value = ''] of readFileSync(file, 'utf8').matchAll(/^(\w+)=(.*)$/gm))
        env[name] = value;
      counts.push((await locksOn(masters[0] as never)).length);
    }
    expect(counts).toEqual([0, 1, 1, 1, 0]);
    expect(texts.slice(2)).toEqual([
      'built\n',
      expect.stringMatching(/^held: .*\ndeployed\n$/),
      expect.stringMatching(/^released/),
    ]);
    expect(jobs.deploy.steps.at(-1).if).toBe('always()');
  });

  test('several steps on GitLab: the lines are one shell', async () => {
    const [, text = ''] = /<!-- steps:gitlab -->\n```yaml\n([\s\S]*?)```/.exec(page) ?? [];
    const { script } = parse(text)['deploy-in-steps'];
    expect(await shell(`set -e\n${script.join('\n')}`)).toMatch(
      /^built\nheld: .*\ndeployed\nreleased: .*\n$/,
    );
  });
});

test('the transcript: why a job waits, and how to end that', async () => {
  const [, text = ''] = /<!-- transcript -->\n```console\n([\s\S]*?)```/.exec(page) ?? [];
  mkdirSync(join(folder, 'stuck'));
  const stuck = join(folder, 'stuck', 'deploy.sh');
  writeFileSync(stuck, '#!/bin/sh\nsleep 60\n');
  chmodSync(stuck, 0o755);
  const holder = rig.start(['deploy', '--', stuck]);
  await expect.poll(async () => (await locksOn(masters[2] as never)).length).toBe(1);
  const startedAt = performance.now();
  let token = '';
  for (const part of text.split(/^(?=\$ )/m)) {
    const [, line = '', expected = ''] = /^\$ (.*)\n([\s\S]*)$/.exec(part) ?? [];
    const command = line.replace(/(?<=--token )\S+/, token);
    const { stdout } = spawnSync('sh', ['-c', `exec 2>&1; ${command}`], {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: generous(20_000),
    });
    token = /^ {2}token (\S+),/m.exec(stdout)?.[1] ?? token;
    expect(normalised(stdout)).toBe(normalised(expected));
  }
  expect(performance.now() - startedAt).toBeLessThan(60_000);
  holder.signal('SIGTERM');
  await holder.result;
});

test('the transcript: why the job of 02:00 did not run', async () => {
  const [, text = ''] = /<!-- transcript:history -->\n```console\n([\s\S]*?)```/.exec(page) ?? [];
  const missed = join(folder, 'missed');
  const restore = `#!/bin/sh\nuntil [ -e '${missed}' ]; do sleep 0.1; done\nexit 3\n`;
  writeFileSync(join(folder, 'restore.sh'), restore, { mode: 0o755 });
  const holder = rig.start(['nightly-backup', '--', join(folder, 'restore.sh')]);
  await expect.poll(async () => (await locksOn(masters[2] as never)).length).toBe(1);
  const job = spawnSync('redlock-run', ['-w', '500ms', 'nightly-backup', '--', 'backup'], {
    cwd: folder,
    env,
  });
  writeFileSync(missed, '');
  expect(job.status).toBe(75);
  await holder.result;
  for (const part of text.split(/^(?=\$ )/m)) {
    const [, command = '', expected = ''] = /^\$ (.*)\n([\s\S]*)$/.exec(part) ?? [];
    expect(normalisedRuns(await shell(`exec 2>&1; ${command}`))).toBe(normalisedRuns(expected));
  }
  expect(readFileSync(join(folder, 'night.html'), 'utf8')).toContain('did not run: held by');
});

/** Without what differs between two runs of the test. */
function normalisedRuns(text: string): string {
  return (
    normalised(text)
      .replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'TIME')
      .replace(/\s+/g, ' ')
      // In a column; where that is too wide for 80 columns, on a line below, cut after 60.
      .replace(/BEGAN WHO /, 'BEGAN ')
      .replace(/(?<!by (uid )?)(?<!\S)(uid )?\S+@\S+( \d+ \S+)? /g, '')
      .replace(/\b(\d+h(\d+m)?|\d+m(\d+s)?|\d+(\.\d+)?m?s)(?= )/g, 'SPAN')
  );
}

/** Without what differs between two runs of the test. */
function normalised(text: string): string {
  const [first, second, third] = masters.map(({ url }) => url) as [string, string, string];
  return text
    .replaceAll(first, 'redis://10.0.0.1:6379')
    .replaceAll(second, 'redis://10.0.0.2:6379')
    .replaceAll(third, 'redis://10.0.0.3:6379')
    .replace(/held by [^,]+?@[^,]+, pid \d+/g, 'held by USER@HOST, pid PID')
    .replace(/held by [^(]+ \(pid \d+(.*\)) for \d+s/g, 'held by USER@HOST (pid PID$1) for SPAN')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/token \S+,/g, 'token TOKEN,')
    .replace(/fence \d{16}/g, 'fence FENCE')
    .replace(/(ends in|held +)\s*\d+(\.\d)?s/g, '$1 SPAN')
    .replace(/[ \t]+/g, ' ')
    .trim();
}

test('the page names every check of the doctor, and no other', async () => {
  const [, table = ''] = /<!-- checks -->\n([\s\S]*?)<!-- \/checks -->/.exec(page) ?? [];
  const named = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name);
  const one = masters.slice(0, 1);
  await ctl(one, ['freeze', 'barred', '--note', 'one of the checks is about freezes']);
  const { stdout } = await ctl(one, ['doctor', '--json']);
  await ctl(one, ['thaw', 'barred']);
  const checks = JSON.parse(stdout).findings.map(({ check }: { check: string }) => check);
  expect(named).toHaveLength(checks.length);
  expect([...named].sort()).toEqual([...checks].sort());
});

test('the JSON of a run has the fields that the page names, and no other', async () => {
  const [, table = ''] = /<!-- json:run -->\n([\s\S]*?)<!-- \/json:run -->/.exec(page) ?? [];
  const fields = [...table.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, names = '']) =>
    names.replaceAll('`', '').split(', '),
  );
  const blocker = { token: 'x', record: null };
  await took(masters, 'a', '2026-11-21T02:00:00Z', missedFor(blocker));
  const { json } = await answerOf(masters, ['history', 'a']);
  expect(Object.keys(json)).toEqual(['name', 'runs', 'acts']);
  expect(Object.keys(json.runs[0]).sort()).toEqual([...fields].sort());
  const [, inner = ''] = /^\| `blocker` \|(.*)$/m.exec(table) ?? [];
  for (const field of Object.keys(json.runs[0].blocker)) expect(inner).toContain(`\`${field}\``);
});

test('the JSON of a lock has the fields that the page names, and no other', async () => {
  const [, table = ''] = /<!-- json:lock -->\n([\s\S]*?)<!-- \/json:lock -->/.exec(page) ?? [];
  const named = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  const rows = table.split('\n').filter((row) => row.startsWith('| `'));
  const fields = rows.flatMap((row) => named(row.split('|')[1] ?? ''));
  await hold(masters, 'deploy');
  const [lock] = (await answerOf(masters, ['status', 'deploy'])).json.locks;
  expect(Object.keys(lock)).toEqual(fields);
  for (const [field, inner] of [
    ['holders', lock.holders[0]],
    ['votes', lock.votes[0]],
  ] as const) {
    const row = rows.find((candidate) => candidate.startsWith(`| \`${field}\``)) ?? '';
    expect(named(row)).toEqual(expect.arrayContaining(Object.keys(inner)));
  }
});
