// Unusual circumstances of a start: a terminal without a width, a working directory that has been
// removed or may not be entered, arguments that are not UTF-8. The program works, or says in one
// line why it cannot.

import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { generous } from '../servers/patience.ts';
import { pathOf } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import {
  countOf,
  environmentFor,
  interpreter,
  isStandalone,
  program,
  takeBy,
  useMasters,
} from './rig.ts';

const { masters } = useMasters(3);

/** Runs a line of bash in a new folder; redlock-run is $0 "$1", redlockctl is $0 "$2". */
function shell(line: string) {
  const env = { PATH: process.env.PATH, HOME: scratchFolder(), ...environmentFor(masters) };
  const options = {
    env,
    cwd: scratchFolder(),
    timeout: generous(20_000),
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  } as const;
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-c', line, interpreter, program, pathOf('redlockctl')],
    options,
  );
  return { status, stdout, stderr };
}

const hasLimits = spawnSync('prlimit', ['-V']).status === 0 && !isStandalone;

test.skipIf(!hasLimits)(
  'too few open files: one line and nothing locked, at every limit at which Node itself can start',
  async () => {
    const runAt = (limit: number) =>
      shell(`setsid -w prlimit --nofile=${limit}:${limit} "$0" "$1" a${limit} -- true`);
    let first = 10;
    let result = runAt(first);
    for (; !result.stderr.startsWith('redlock-run: '); result = runAt(first)) first += 1;
    const tooFew = {
      status: 69,
      stdout: '',
      stderr: 'redlock-run: open files: too few are allowed (raise the limit: ulimit -n)\n',
    };
    const quiet = { status: 0, stdout: '', stderr: '' };
    // Each limit below the first that is enough, and three from there.
    for (let limit = first, enough = 0; enough < 3; limit += 1) {
      if (limit > first) result = runAt(limit);
      if (result.status === 0) enough += 1;
      expect([limit, result]).toEqual([limit, enough > 0 ? quiet : tooFew]);
      expect([limit, await countOf(masters, `a${limit}`)]).toEqual([limit, 0]);
    }
  },
);

const hasScript = spawnSync('script', ['-V']).status === 0;

test.skipIf(!hasScript)(
  'a terminal of no width: a wait ends, and status --watch goes on line by line',
  async () => {
    await takeBy('them', masters, 'held');
    const within = (line: string) =>
      shell(`export A=$0 B=$1 C=$2; script -qec '${line}' /dev/null </dev/null; echo "code $?"`)
        .stdout;
    expect(within('"$A" "$B" -w 2s held -- true')).toMatch(
      /^redlock-run: waiting \d+s \(of 2s\) .*"held".*\r\nredlock-run: busy: .*\r\ncode 75\n$/,
    );
    const seconds = generous(1_000) / 1_000;
    const watched = within(`NO_COLOR=1 timeout ${seconds} "$A" "$C" status held --watch`);
    expect(watched).toMatch(/^"held".*\n"held".*code 124\n$/s);
    expect(watched).not.toContain('\x1b');
  },
);

test('a configuration may come through a pipe', () => {
  const text = `masters: [${masters.map(({ url }) => `"${url}"`).join(', ')}]`;
  expect(
    shell(`unset REDLOCK_MASTERS; "$0" "$1" --config <(echo '${text}') a -- echo ran`),
  ).toEqual({
    status: 0,
    stdout: 'ran\n',
    stderr: '',
  });
});

// Bun does not start there: docs/performance.md.
test.runIf(process.platform === 'linux' && !isStandalone)(
  'a working directory that has been removed',
  () => {
    const within = (line: string) => shell(`mkdir gone; cd gone; rmdir ../gone; ${line}`);
    expect(within('"$0" "$1" a -- readlink /proc/self/cwd /no/such/link')).toEqual({
      status: 1,
      stdout: expect.stringMatching(/gone \(deleted\)\n$/),
      stderr: '',
    });
    expect(
      within(
        `printf '#!/no/shell' > "$HOME/odd"; chmod +x "$HOME/odd"; "$0" "$1" a -- "$HOME/odd"`,
      ),
    ).toMatchObject({
      status: 127,
      stderr: expect.stringMatching(/^[^\n]*odd[^\n]*\n$/),
    });
    // ETXTBSY: a file that is being written. It is there, whatever else is not.
    const busy = 'cp /bin/true "$HOME/busy"; "$0" "$1" a -- "$HOME/busy" 3>>"$HOME/busy"';
    expect(within(busy)).toMatchObject({
      status: 126,
      stderr: expect.stringMatching(/^redlock-run: command: [^\n]*busy[^\n]*\n$/),
    });
    expect(within('"$0" "$2" status a')).toMatchObject({ status: 0, stderr: '' });
    const missing = {
      status: 78,
      stderr: 'redlock-run: --config: "here": no such file (name a YAML file)\n',
    };
    expect(within('"$0" "$1" --config here a -- true')).toMatchObject(missing);
  },
);

const hasSetpriv = spawnSync('setpriv', ['--version']).status === 0;

test.runIf(hasSetpriv)(
  'a working directory that may not be entered: the command runs in it',
  () => {
    // Root may enter every directory, unless it has given up these rights.
    const rights = '-dac_override,-dac_read_search';
    const without = `setpriv --bounding-set ${rights} --inh-caps ${rights}`;
    const drop = process.getuid?.() === 0 ? without : '';
    const within = (line: string) =>
      shell(
        `mkdir closed; cd closed; chmod 0 "$HOME/closed"; ${drop} ${line}; status=$?; ` +
          'chmod 700 "$HOME/closed"; rmdir "$HOME/closed"; exit "$status"',
      );
    expect(within("sh -c 'cd .'").status).not.toBe(0);
    expect(within(`"$0" "$1" a -- sh -c 'echo ran; exit 3'`)).toEqual({
      status: 3,
      stdout: 'ran\n',
      stderr: '',
    });
    expect(within('"$0" "$1" a -- /no/such/program')).toMatchObject({ status: 127 });
  },
);

test.runIf(process.platform === 'linux')(
  'arguments that are not UTF-8 are refused, and U+FFFD itself is not',
  () => {
    const refused = (argument: number) => ({
      status: 64,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(`: argument ${argument}: "[^"]*\ufffd[^"]*": not UTF-8, [^\n]* \\([^\n]*\\)\n$`),
      ),
    });
    expect(shell(`"$0" "$1" a -- echo $'b\\xff'`)).toEqual(refused(4));
    expect(shell(`"$0" "$2" status $'a\\xff'`)).toEqual(refused(2));
    expect(shell(`"$0" "$1" $'\ufffd' -- echo '\ufffd' ''`)).toEqual({
      status: 0,
      stdout: '\ufffd \n',
      stderr: '',
    });
  },
);
