// The three streams of the command are those of the caller: redlock-run prints nothing on stdout,
// and nothing on stderr when all goes well. There is no pipe between that could fill up or close.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  environmentFor,
  fixture,
  interpreter,
  isStandalone,
  program,
  takeBy,
  untilNothingIsLeft,
  useMasters,
} from './rig.ts';

const { masters, run, start } = useMasters(3);
const megabytes = 10;

/** A line for sh, in which redlock-run is $0 "$1", run to its end with these masters. */
function shell(line: string, ...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const options = {
    env,
    timeout: generous(30_000),
    killSignal: 'SIGKILL' as const,
    encoding: 'utf8' as const,
  };
  return spawnSync('sh', ['-c', line, interpreter, program, ...args], options);
}

test('a signal that the caller ignores is ignored only where the command says so again', () => {
  const ignored = 'grep SigIgn /proc/self/status';
  const command = `${ignored}; trap '' INT QUIT; exec ${ignored}`;
  const { stdout } = shell(`trap '' INT QUIT; exec "$0" "$1" ignored -c "${command}"`);
  expect(stdout).toMatch(/^SigIgn:\s0+\nSigIgn:\s0+6\n$/);
});

test('a stream that the caller closed is /dev/null, and closed where the command closes it', () => {
  const script = 'echo x && echo open >&2; exec sh -c "echo x" >&-';
  const { status, stdout, stderr } = shell(`"$0" "$1" closed -c '${script}' >&-`);
  expect(stderr).toMatch(/^open\n/);
  expect([status === 0, stdout]).toEqual([false, '']);
});

test('stdout is the command’s alone, also with -v, and so is stderr without', async () => {
  const args = ['name', '--', 'sh', '-c', 'echo out; echo err >&2'];
  for (const flags of [[], ['-q']])
    expect(await run([...flags, ...args])).toMatchObject({ stdout: 'out\n', stderr: 'err\n' });
  const { stdout, stderr } = await run(['-v', ...args]);
  expect(stdout).toBe('out\n');
  expect(stderr).toMatch(/^(redlock-run: .*\n)+err\n(redlock-run: .*\n)+$/);
});

test('output that cannot be written is 74, with one line unless the reader has ended', () => {
  for (const args of [['--help'], ['--dry-run', 'name', '--', 'true']]) {
    const full = shell('"$0" "$@" >/dev/full; echo "code $?"', ...args);
    expect([full.stdout, full.stderr]).toEqual([
      'code 74\n',
      'redlock-run: output: no space left\n',
    ]);
    // The loop ends when the reader has.
    const unread = '(while echo; do :; done) 2>/dev/null';
    const closed = shell(`{ ${unread}; "$0" "$@"; echo "code $?" >&2; } | :`, ...args);
    expect(closed.stderr).toBe('code 74\n');
  }
});

test.skipIf(isStandalone)(
  'other open files: not 3 to 15, but behind a gap, as docs/supervision.md says',
  () => {
    const within = (line: string) => shell('bash -c "$2" "$0" "$1"', line);
    const opened = [3, 15, 16, 17, 19, 20].map((number) => `${number}</dev/null`).join(' ');
    const look = 'for n in 3 15 16 17 19 20; do { true <&$n; } 2>/dev/null && echo $n; done';
    const { stdout, stderr } = within(`exec ${opened}; exec "$0" "$1" files -- bash -c '${look}'`);
    expect([stdout, stderr]).toEqual(['19\n20\n', '']);
    const script = 'exec 3</dev/fd/20; read -r line <&3; echo "$line"';
    expect(within(`"$0" "$1" files -c '${script}' 20< <(echo hello)`).stdout).toBe('hello\n');
  },
);

// Such a pipe would be non-blocking for every process that has it: "Resource temporarily
// unavailable" for what reads it beside redlock-run, or after it.
test.runIf(process.platform === 'linux')('a run leaves stdin as it is for others', async () => {
  await takeBy('them', masters, 'held');
  const during = (run: string) => {
    const look = 'sleep 1; cat /proc/self/fdinfo/0; wait';
    const { stdout } = shell(`: | { exec 3<&0; ${run} <&3 & ${look}; }`);
    return /^flags:\s*(\d+)$/m.exec(stdout)?.[1];
  };
  const before = during(':');
  expect(before).toMatch(/^\d+$/);
  expect(during('"$0" "$1" -w 2s held -- true')).toBe(before);
});

test('stdin reaches the command, with its end, and need not be read', async () => {
  const results = await Promise.all([
    run(['a', '--', 'cat'], { stdin: 'typed\n' }),
    run(['b', '--', 'true'], { stdin: 'never read\n' }),
  ]);
  expect(results.map(({ code, stdout }) => [code, stdout])).toEqual([
    [0, 'typed\n'],
    [0, ''],
  ]);
});

test(`${megabytes} MB arrive whole through stdin and a pipe of output, and in a file`, () => {
  const zeros = Buffer.alloc(1_000_000);
  const hash = createHash('sha256');
  for (let count = 0; count < megabytes; count += 1) hash.update(zeros);
  const source = `head -c ${megabytes}000000 /dev/zero`;
  const through = `${source} | { "$0" "$1" big -- cat || echo "code $?" >&2; } | "$2" "$3"`;
  const piped = shell(through, process.execPath, fixture('count-bytes.js'));
  expect(piped).toMatchObject({
    stdout: `${megabytes}000000 ${hash.digest('hex')}\n`,
    stderr: '',
  });
  const file = join(mkdtempSync(join(scratchFolder(), 'out-')), 'file');
  expect(shell(`"$0" "$1" big -- ${source} > "$2"`, file).status).toBe(0);
  expect(statSync(file).size).toBe(megabytes * 1_000_000);
});

test('a reader that ends early ends the command, as without redlock-run', async () => {
  const { stdout, stderr } = shell('"$0" "$1" endless -- yes | head -1');
  expect([stdout, stderr]).toEqual(['y\n', '']);
  await untilNothingIsLeft(masters);
});

test('the descriptors are those of the caller, and the command gets no others', () => {
  const file = join(mkdtempSync(join(scratchFolder(), 'out-')), 'file');
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const look = ['sh', '-c', 'readlink /proc/$$/fd/1; ls /proc/$$/fd'];
  const seenBy = (args: readonly string[]) => {
    const descriptor = openSync(file, 'w');
    spawnSync(args[0] as string, args.slice(1), {
      env,
      stdio: ['ignore', descriptor, 'inherit'],
    });
    closeSync(descriptor);
    return readFileSync(file, 'utf8');
  };
  const seen = seenBy([interpreter, program, 'own', '--', ...look]);
  expect(seen).toMatch(file);
  // Bun passes on only the first three.
  const direct = seenBy(look);
  expect(seen).toBe(isStandalone ? direct.replace(/(?<=\n2\n)[\d\n]*/, '') : direct);
});

test.each([
  ['stdin', '<&-', []],
  ['stderr, with -v', '2>&-', ['-v']],
])('closed %s: the command runs all the same', async (_title, redirection, flags) => {
  const ran = join(mkdtempSync(join(scratchFolder(), 'ran-')), 'file');
  const { status } = shell(`"$0" "$1" ${flags.join(' ')} closed -- touch "$2" ${redirection}`, ran);
  expect(status).toBe(0);
  expect(statSync(ran).isFile()).toBe(true);
  await untilNothingIsLeft(masters);
});

test('a reader of stderr that ends stops nothing', async () => {
  const job = start(['-v', 'gone', '--', 'sh', '-c', 'sleep 0.2; echo done']);
  job.child.stderr?.destroy();
  expect(await job.result).toMatchObject({ code: 0, stdout: 'done\n' });
  await untilNothingIsLeft(masters);
});

test('a background process that keeps stdout open does not keep redlock-run', async () => {
  const job = start(['left', '--', 'sh', '-c', 'sleep 300 & echo over']);
  await job.says('stdout', /over/);
  const { code, elapsedMs } = await job.result;
  expect(code).toBe(0);
  expect(elapsedMs).toBeLessThan(generous(10_000));
});
