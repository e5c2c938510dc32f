// timeout(1) kills the whole process group of redlock-run, SIGKILL included: the processes of the
// command have ended before the next holder starts all the same.

import { describe, expect, it } from 'vitest';
import { fixture, Succession } from '../supervision/next-holder.ts';
import { sharedMasters } from '../supervision/rig.ts';

/** Longer than redlock-run takes to start the command on a slow machine. */
const seconds = '8';
const ways = [
  ['timeout -k 1', ['timeout', '-k', '1', seconds]],
  ['timeout -s KILL', ['timeout', '-s', 'KILL', seconds]],
] as const;
const child = `sh -c 'sleep 120; :' "$1"`;
const deaf = `trap '' TERM INT HUP; ${child} & echo ready; while :; do sleep 1; done`;
const hidden = `perl "${fixture('escape.pl')}" "$1" wiped pretender; ${deaf}`;
const commands = [
  ['a command that ignores signals', deaf],
  ['what hides', hidden],
] as const;
const withEach = (way: readonly [string, readonly string[]]) =>
  commands.map(([title, script]) => [way[0], title, way[1], script] as const);
const cases = ways.flatMap(withEach);

describe.concurrent('the process group of redlock-run is killed', () => {
  it.each(cases)('%s: %s', async (_way, _title, through, script) => {
    const command = (mark: string) => ['sh', '-c', script, mark, mark];
    const run = new Succession(await sharedMasters(), command, { through });
    await run.begun();
    expect(await run.nextSees()).toBe('');
  });
});
