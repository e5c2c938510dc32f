// --report writes one JSON object on one line for every outcome of a run, and nothing else on any
// stream. With --log-format json each line of stderr is an object.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { generous } from '../servers/patience.ts';
import { ownProgram, readableProgram } from '../servers/readable-copy.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  environmentFor,
  interpreter,
  linesOf,
  obedient,
  program,
  takeBy,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);

const reportFile = () => join(mkdtempSync(join(scratchFolder(), 'report-')), 'report.json');

function parse(file: string): Record<string, unknown> {
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(/^\{.*\}\n$/);
  expect(readdirSync(join(file, '..'))).toEqual(['report.json']);
  return JSON.parse(text);
}

/** Runs with --report, and returns the object. */
async function reportOf(args: string[], env: Record<string, string> = {}) {
  const file = reportFile();
  const { stdout } = await run(['--report', file, ...args], { env });
  expect(stdout).toBe('');
  return parse(file);
}

test('every outcome, with the exit code or signal, and the status', async () => {
  await takeBy('them', masters, 'held');
  const none = { REDLOCK_MASTERS: 'unix:///nowhere/1,unix:///nowhere/2,unix:///nowhere/3' };
  const rows = await Promise.all([
    reportOf(['a', '--', 'true']),
    reportOf(['b', '--', 'sh', '-c', 'exit 3']),
    reportOf(['c', '--', 'sh', '-c', 'kill -KILL $$']),
    reportOf(['-n', 'held', '--', 'true']),
    reportOf(['-n', '-E', '0', 'held', '--', 'true']),
    reportOf(['-n', 'd', '--', 'true'], none),
    reportOf(['e', '--', 'there-is-no-such-program']),
    reportOf(['--max-run', '300ms', 'f', '--', 'sleep', '30']),
  ]);
  expect(
    rows.map(({ outcome, exitCode, signal, status }) => [outcome, exitCode, signal, status]),
  ).toEqual([
    ['ran', 0, null, 0],
    ['ran', 3, null, 3],
    ['ran', null, 'SIGKILL', 137],
    ['busy', null, null, 75],
    ['busy', null, null, 0],
    ['no-quorum', null, null, 69],
    ['not-found', null, null, 127],
    ['max-run', null, 'SIGTERM', 124],
  ]);
});

test('--report and --on-lost work when the package is replaced during the run', async () => {
  const { path, folder } = ownProgram();
  const report = reportFile();
  const args = ['--ttl', '30s', '--report', report, '--on-lost', 'echo hook >&2', 'l', '--'];
  const job = start([...args, 'sh', '-c', `rm -r ${folder}; echo ready; exec sleep 60`], { path });
  await job.says('stdout', /ready/);
  await Promise.all(masters.map((master) => master.command('set', 'redlock:l', 'other')));
  const { code, stderr } = await job.result;
  expect([code, stderr]).toEqual([79, expect.stringMatching(/^hook$/m)]);
  expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({ outcome: 'lost' });
});

test('times, extensions, the fencing number and the masters', async () => {
  const report = await reportOf(['--ttl', '3s', '-k', '200ms', 'name', '--', 'sleep', '1.5']);
  expect(report).toEqual({
    name: 'name',
    names: ['name'],
    outcome: 'ran',
    waitMs: expect.toSatisfy((ms) => Number.isInteger(ms) && ms >= 0 && ms < 5_000),
    position: null,
    runMs: expect.toSatisfy((ms) => Number.isInteger(ms) && ms >= 1_490 && ms < 10_000),
    exitCode: 0,
    signal: null,
    status: 0,
    lossReason: null,
    stoppedBy: null,
    unkillable: [],
    extensions: expect.toSatisfy((count) => count >= 1 && count <= 3),
    fence: expect.toSatisfy((fence) => String(fence).length === 16),
    slot: null,
    note: null,
    url: null,
    traceId: null,
    masters: { ok: masters.map(({ url }) => url), failed: [], silent: [] },
  });
});

test('the position in the queue on arrival', async () => {
  await takeBy('them', masters, 'queue');
  const [first, second] = [reportFile(), reportFile()];
  const ahead = start(['-v', '-w', '3s', '--report', first, 'queue', '--', 'true']);
  await ahead.says('stderr', /1st in the queue/);
  await run(['-w', '600ms', '--report', second, 'queue', '--', 'true']);
  await ahead.result;
  expect([parse(first), parse(second)]).toMatchObject([
    { outcome: 'busy', position: 1 },
    { outcome: 'busy', position: 2, waitMs: expect.toSatisfy((ms) => ms >= 600) },
  ]);
});

test('the fencing number is that of the command, and grows from run to run', async () => {
  const file = reportFile();
  const fences: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const { stdout } = await run(['--report', file, 'fenced', '--', 'printenv', 'REDLOCK_FENCE']);
    expect(parse(file).fence).toBe(Number(stdout));
    fences.push(Number(stdout));
  }
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
});

test('a lost lock, with a master that failed', async () => {
  const file = reportFile();
  const job = start(['--ttl', '6s', '--report', file, 'lost', '--', ...obedient(5)]);
  await job.says('stdout', /ready/);
  await masters[0]?.kill();
  for (const master of masters.slice(1)) await master.command('del', 'redlock:lost');
  await job.result;
  await masters[0]?.restart();
  const { outcome, exitCode, status, masters: seen } = parse(file);
  expect([outcome, exitCode, status]).toEqual(['lost', 5, 79]);
  const ok = masters.slice(1).map(({ url }) => url);
  expect(seen).toEqual({ ok, failed: [masters[0]?.url], silent: [] });
});

test('a master that does not answer is silent, as one that was not asked', async () => {
  masters[2]?.freeze();
  const ran = await reportOf(['frozen', '--', 'true']);
  masters[2]?.thaw();
  const urls = masters.map(({ url }) => url);
  const { failed, silent, ok } = ran.masters as Record<string, string[]>;
  expect(ok).toEqual(urls.slice(0, 2));
  expect([...(failed ?? []), ...(silent ?? [])]).toEqual(urls.slice(2));
  const notFound = await reportOf(['name', '--', 'there-is-no-such-program']);
  expect(notFound.masters).toEqual({ ok: [], failed: [], silent: urls });
});

test('written whenever the path is right, over an earlier report', async () => {
  const file = reportFile();
  const of = async (given: string[], env: Record<string, string> = {}) => {
    writeFileSync(file, 'old');
    const args = ['--report', file, ...given, 'name', '--', process.execPath];
    const { code } = await run(args, { env });
    const { outcome, status, name } = parse(file);
    return [code, outcome, status, name];
  };
  // The user's own masters may be there, started by `npm start`.
  const directory = join(scratchFolder(), 'no-local-masters');
  const noServer = {
    PATH: '/nowhere',
    REDLOCK_MASTERS: '',
    REDLOCK_LOCAL_DIRECTORY: directory,
  };
  expect([
    await of(['--ttl', 'potatoes']),
    await of([], { REDLOCK_MASTERS: '' }),
    await of(['--local', '--config', '/dev/null'], noServer),
  ]).toEqual([
    [64, 'not-started', 64, 'name'],
    [78, 'not-started', 78, 'name'],
    [69, 'not-started', 69, 'name'],
  ]);
});

test('a run that was stopped by a signal while it waited', async () => {
  await takeBy('them', masters, 'held');
  const file = reportFile();
  const job = start(['-v', '--report', file, 'held', '--', 'true']);
  await job.says('stderr', /waiting/);
  job.signal('SIGTERM');
  await job.result;
  expect(parse(file)).toMatchObject({
    outcome: 'signal',
    runMs: null,
    exitCode: null,
    signal: null,
    status: 143,
  });
});

test('an earlier report is replaced, and a device is written to', async () => {
  const file = reportFile();
  writeFileSync(file, 'something long that was there before, longer than a report is\n'.repeat(20));
  await run(['--report', file, 'name', '--', 'true']);
  expect(parse(file)).toMatchObject({ outcome: 'ran' });
  const script = '"$0" "$1" --report /dev/stderr name -- true 2>&1 >/dev/null | cat';
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const { stdout } = spawnSync('sh', ['-c', script, interpreter, program], {
    env,
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toMatchObject({ outcome: 'ran' });
});

/**
 * Runs in a folder prepared by the shell line, with a report to `out` and stdout in the file `f`.
 */
function shellIn(folder: string, line: string, args = '--report out a -- true') {
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const script = `${line}; "$0" "$1" ${args} > f`;
  return spawnSync('sh', ['-c', script, interpreter, program], {
    env,
    cwd: folder,
    encoding: 'utf8',
    timeout: generous(20_000),
    killSignal: 'SIGKILL',
  });
}

test.each(['/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'])('%s is written to', (path) => {
  const folder = mkdtempSync(join(scratchFolder(), 'open-'));
  const { status, stderr } = shellIn(folder, 'true', `--report ${path} a -- true`);
  expect([status, stderr]).toEqual([0, '']);
  expect(JSON.parse(readFileSync(join(folder, 'f'), 'utf8'))).toMatchObject({ outcome: 'ran' });
});

test('a link is refused (74) before anything runs', () => {
  const folder = mkdtempSync(join(scratchFolder(), 'link-'));
  for (const to of ['there', '/proc/self/fd/1', 'nowhere']) {
    const line = `echo old > there; ln -sfn ${to} out`;
    const { status, stderr } = shellIn(folder, line, '--report out a -- touch ran');
    expect([to, status, stderr]).toEqual([
      to,
      74,
      `redlock-run: --report: "${join(folder, 'out')}": is a link (name the file itself)\n`,
    ]);
  }
  expect(readFileSync(join(folder, 'there'), 'utf8')).toBe('old\n');
  expect(readdirSync(folder).sort()).toEqual(['f', 'out', 'there']);
});

test('after what the command has written there', () => {
  const folder = mkdtempSync(join(scratchFolder(), 'open-'));
  shellIn(folder, 'true', '--report /dev/stdout a -- echo first');
  expect(readFileSync(join(folder, 'f'), 'utf8')).toMatch(/^first\n\{.*\}\n$/);
});

test('a file keeps its mode, and is replaced under one of its names', () => {
  const folder = mkdtempSync(join(scratchFolder(), 'mode-'));
  const out = join(folder, 'out');
  for (const [before, after, line] of [
    [0o600, 0o600, 'umask 022; echo old > out; chmod 600 out'],
    [0o666, 0o666, 'umask 077; chmod 666 out'],
  ] as const) {
    expect([before, shellIn(folder, line).status]).toEqual([before, 0]);
    expect(statSync(out).mode & 0o777).toBe(after);
  }
  const { ino } = statSync(out);
  shellIn(folder, 'true');
  expect(statSync(out).ino).not.toBe(ino);
  shellIn(folder, 'ln out twin; head -c 9000 /dev/zero > out');
  expect(JSON.parse(readFileSync(out, 'utf8'))).toMatchObject({ outcome: 'ran' });
  expect(statSync(join(folder, 'twin')).size).toBe(9000);
});

test('a pipe that no process reads is given up without a change of the exit status', () => {
  const folder = mkdtempSync(join(scratchFolder(), 'pipe-'));
  const { status, stderr } = shellIn(folder, 'mkfifo out', '--report out a -- sh -c "exit 3"');
  expect([status, stderr]).toEqual([
    3,
    `redlock-run: --report: "${join(folder, 'out')}": no process reads it\n`,
  ]);
  shellIn(folder, '(cat out > got &)');
  expect(JSON.parse(readFileSync(join(folder, 'got'), 'utf8'))).toMatchObject({ outcome: 'ran' });
});

test('a pipe that stays full is given up without a change of the exit status', () => {
  const folder = mkdtempSync(join(scratchFolder(), 'pipe-'));
  execFileSync('mkfifo', [join(folder, 'out')]);
  const pipe = openSync(join(folder, 'out'), constants.O_RDWR | constants.O_NONBLOCK);
  expect(() => {
    for (;;) writeSync(pipe, Buffer.alloc(4096));
  }).toThrow('EAGAIN');
  const { status, stderr } = shellIn(folder, 'true', '--report out a -- sh -c "exit 3"');
  closeSync(pipe);
  expect([status, stderr]).toEqual([
    3,
    `redlock-run: --report: "${join(folder, 'out')}": no process reads it\n`,
  ]);
});

describe('in a sticky folder that everyone can write to', () => {
  const nobody = 65_534;
  const args = '--report out a -- touch ran';

  /** The folder, with an entry `out` that belongs to another user. */
  function planted(what: 'link' | 'dangling link' | 'file' | 'pipe', owner = nobody): string {
    const folder = mkdtempSync(join(scratchFolder(), 'sticky-'));
    const out = join(folder, 'out');
    mkdirSync(join(folder, 'victim'), { mode: 0o700 });
    if (what !== 'dangling link') writeFileSync(join(folder, 'victim', 'passwd'), 'precious');
    if (what.endsWith('link')) symlinkSync('victim/passwd', out);
    else if (what === 'file') writeFileSync(out, '', { mode: 0o666 });
    else execFileSync('mkfifo', ['-m', '666', out]);
    lchownSync(out, owner, owner);
    chmodSync(folder, 0o1777);
    return folder;
  }

  test.runIf(process.getuid?.() === 0).each(['link', 'dangling link', 'file', 'pipe'] as const)(
    'a %s of another user is refused (74) before anything runs',
    (what) => {
      const folder = planted(what);
      const { status, stderr } = shellIn(folder, 'true', args);
      expect(status).toBe(74);
      expect(stderr).toMatch(
        new RegExp(
          String.raw`^redlock-run: --report: ".*out": a \w+ of nobody \(uid 65534\) ` +
            String.raw`in a folder .*\(name a file .*\)\n$`,
        ),
      );
      const { passwd = null } = Object.fromEntries(
        readdirSync(join(folder, 'victim')).map((name) => [
          name,
          readFileSync(join(folder, 'victim', name), 'utf8'),
        ]),
      );
      expect(passwd).toBe(what === 'dangling link' ? null : 'precious');
      expect(readdirSync(folder).sort()).toEqual(['f', 'out', 'victim']);
    },
  );

  test.runIf(process.getuid?.() === 0)(
    'a link that appears while the command runs is not followed',
    () => {
      const folder = planted('dangling link', 0);
      const command = `sh -c "ln -s victim/passwd late; chown -h ${nobody} late"`;
      const { status, stderr } = shellIn(folder, 'true', `--report late a -- ${command}`);
      expect([status, stderr]).toEqual([
        0,
        expect.stringContaining('a link of nobody (uid 65534)'),
      ]);
      expect(readdirSync(join(folder, 'victim'))).toEqual([]);
    },
  );

  test.runIf(process.getuid?.() === 0)('nor is the link that a step summary goes to', async () => {
    await takeBy('them', masters, 'a');
    const folder = planted('link');
    const env = { GITHUB_STEP_SUMMARY: join(folder, 'out') };
    const { code, stderr } = await run(['-n', '-v', 'a', '--', 'true'], { env });
    expect(code).toBe(75);
    expect(stderr).toContain('a link of nobody (uid 65534) in a folder that everyone can write to');
    expect(readFileSync(join(folder, 'victim', 'passwd'), 'utf8')).toBe('precious');
  });

  test.runIf(process.getuid?.() === 0)('so is a link that is a folder of the path', () => {
    const folder = planted('link');
    symlinkSync('victim', join(folder, 'deep'));
    lchownSync(join(folder, 'deep'), nobody, nobody);
    const { status, stderr } = shellIn(folder, 'true', '--report deep/x a -- touch ran');
    expect(stderr).toMatch(/"\/.*\/deep": a link of nobody \(uid 65534\)/);
    expect(status).toBe(74);
    expect(readdirSync(join(folder, 'victim'))).toEqual(['passwd']);
  });
});

test.skipIf(process.getuid?.() === 0)(
  'where it may not be written: 74, before anything runs',
  async () => {
    const folder = mkdtempSync(join(scratchFolder(), 'closed-'));
    chmodSync(folder, 0o500);
    const { code, stderr } = await run(['--report', join(folder, 'out'), 'a', '--', 'false']);
    expect([code, stderr]).toEqual([
      74,
      expect.stringContaining('permission denied (name a file that can be written)'),
    ]);
  },
);

test('--log-format json: each line is an object with time, kind, name and message', async () => {
  await takeBy('them', masters, 'held');
  const [ran, busy] = await Promise.all([
    run(['-v', '--log-format', 'json', 'a "b"', '--', 'true']),
    run(['-n', '--log-format', 'json', 'held', '--', 'true']),
  ]);
  const objects = linesOf(ran.stderr).map((line) => JSON.parse(line));
  const kinds = objects.map(({ kind }) => kind);
  expect(kinds).toEqual(
    expect.arrayContaining(['acquired', 'child-started', 'child-exited', 'released']),
  );
  for (const { time, name, message } of objects) {
    expect(new Date(time).toISOString()).toBe(time);
    expect([name, typeof message]).toEqual(['a "b"', 'string']);
  }
  const [line, ...others] = linesOf(busy.stderr).map((text) => JSON.parse(text));
  expect(line).toMatchObject({
    name: 'held',
    message: expect.stringMatching(/^busy: "held": held by/),
  });
  expect(others).toEqual([]);
});

test('an open file that it may not open anew is named as the user wrote it', async () => {
  const out = join(mkdtempSync(join(scratchFolder(), 'open-')), 'out');
  const user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'];
  const script = 'exec > "$0"; chmod 0 "$0"; exec "$@"';
  // Root may write to every file, so root runs this as another user.
  const through = ['sh', '-c', script, out, ...(process.getuid?.() === 0 ? user : [])];
  const args = ['--report', '/dev/stdout', 'a', '--', 'true'];
  expect(await run(args, { through, path: readableProgram() })).toMatchObject({
    code: 74,
    stderr:
      'redlock-run: --report: "/dev/stdout": permission denied (name a file that can be written)\n',
  });
});
