// The descriptors of the caller reach the command, and none of redlock-run does. Those from 3 to 15
// are not promised: Node closes them when it starts a program.

import { describe, expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { CliRun, interpreter, isStandalone, pathOf } from '../servers/run-cli.ts';
import { sharedMasters } from './rig.ts';

if (isStandalone) process.stderr.write('  SKIPPED: descriptors: Bun closes them\n');

describe.skipIf(isStandalone).concurrent('descriptors of the caller', () => {
  it('17 to 19 can be read and written by the command', async () => {
    const says = `cat <&17; cat <&18; echo written >&19`;
    const opens = `17< <(echo one) 18< <(echo two) 19>&1`;
    const { stdout, stderr } = await shell(`rl open -- bash -c '${says}' ${opens}`);
    expect({ stdout, stderr }).toEqual({ stdout: 'one\ntwo\nwritten\n', stderr: '' });
  });

  it('17 is open no longer than the command runs', async () => {
    const { stdout } = await shell(`rl close -- bash -c 'echo said >&17' 17> >(cat; echo end)`);
    expect(stdout).toBe('said\nend\n');
  });

  const kinds = ['--no-foreground', '--foreground', '--isolate'];
  it.skipIf(!hasPerl).each(kinds)('it has those that it has without us: %s', async (kind) => {
    const link = 'readlink "/proc/self/fd/$_"';
    const lists = `perl -e 'for (0..60) { my $to = ${link}; print "$_ $to\\n" if $to }'`;
    const line = `exec 17</dev/zero; ${lists}; echo --; rl ${kind} list${kind} -- ${lists}`;
    const { stdout, stderr } = await shell(line);
    if (/--isolate: not possible/.test(stderr)) return;
    const [without, under] = stdout.split('--\n');
    expect(without).toContain('17 /dev/zero');
    expect(under).toBe(without);
  });
});

/** A line for bash, in which rl is redlock-run with the masters of this file. */
async function shell(line: string): Promise<{ stdout: string; stderr: string }> {
  const masters = await sharedMasters();
  const program = `rl() { "${interpreter}" "${pathOf('redlock-run')}" "$@"; }`;
  const run = new CliRun([], {
    env: {
      REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
      REDLOCK_RESTART_GRACE: '0',
    },
    through: ['bash', '-c', `${program}; ${line}`],
    timeoutMs: 40_000,
  });
  return run.result;
}
