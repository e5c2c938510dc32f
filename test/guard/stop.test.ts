// Which process gets which signal, how often: in a real family of processes, each of which writes
// down what it gets. A second signal that follows shows that no more of the first are on their way,
// since a process takes pending signals in the order of their numbers.

import { afterAll, describe, expect, it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { eventually, isFrozen } from '../servers/processes.ts';
import { closeAll, RealGuard, type RealStart } from './real-guard.ts';

if (!hasPerl) process.stderr.write('  SKIPPED: signals in a family: no perl\n');
const fixture = `${import.meta.dirname}/fixtures/family.pl`;
const everyone = 'main child group session orphan stopped cleanup'.split(' ');

afterAll(closeAll);

class Family {
  readonly guard: RealGuard;
  readonly #names: readonly string[];

  constructor(names: readonly string[], start: RealStart = {}) {
    this.guard = new RealGuard(['perl', fixture, ...names], start);
    this.#names = names;
  }

  async ready(): Promise<this> {
    for (const name of this.#names) await this.pidOf(name);
    if (this.#names.includes('stopped')) {
      const pid = await this.pidOf('stopped');
      await eventually('it is stopped', () => isFrozen(pid));
    }
    return this;
  }

  async pidOf(name: string): Promise<number> {
    const [, pid] = await this.guard.says(new RegExp(`^${name} ready (\\d+)`, 'm'));
    return Number(pid);
  }

  async hears(signal: string, names = this.#names): Promise<void> {
    for (const name of names) await this.guard.says(new RegExp(`^${name} ${signal}$`, 'm'));
  }

  /** How often each has got a signal, when all that were sent have arrived. */
  async counts(signal: string, names = this.#names): Promise<Record<string, number>> {
    this.guard.send('relay 23\n'); // SIGURG, which is ignored: both guards have read all before it.
    for (const name of names) process.kill(await this.pidOf(name), 35);
    await this.hears('NUM35', names);
    const lines = this.guard.output.split('\n');
    const count = (name: string) => lines.filter((line) => line === `${name} ${signal}`).length;
    return Object.fromEntries(names.map((name) => [name, count(name)]));
  }

  async end(): Promise<void> {
    this.guard.send('kill\n');
    await this.guard.gone();
  }
}

const once = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]));
const modes = [
  { title: 'in the background', options: [] },
  { title: 'in the foreground', options: ['--foreground'] },
];

describe.skipIf(!hasPerl)('signals in a family of processes', () => {
  it.concurrent.each(modes)('$title, each is sent the stop signal once', async (mode) => {
    const family = await new Family(everyone, mode).ready();
    family.guard.send('stop 15 3600000\n');
    await family.hears('TERM');
    await family.hears('CONT', ['stopped']);
    family.guard.send('stop 15 3600000\nstop 15 3600000\n');
    expect(await family.counts('TERM')).toEqual(once(everyone));
    await family.end();
  });

  it.concurrent.each(modes)('$title, what a trap starts gets no stop signal', async (mode) => {
    const family = await new Family(['main', 'cleanup'], mode).ready();
    family.guard.send('stop 15 3600000\n');
    await family.pidOf('cleaner');
    family.guard.send('stop 15 3600000\n');
    expect(await family.counts('TERM', ['cleaner'])).toEqual({ cleaner: 0 });
    await family.end();
  });

  it.concurrent.each([
    ...modes.flatMap((mode) => ['outer', 'inner'].map((which) => ({ ...mode, which }))),
  ])(
    '$title, the $which guard dies after the stop: no second signal',
    async ({ which, ...mode }) => {
      const family = await new Family(everyone, mode).ready();
      family.guard.send('stop 15 3600000\n');
      await family.hears('TERM');
      await family.guard.happens(which === 'outer' ? 'outer dies' : 'inner dies');
      await family.guard.awaits('lost');
      expect(await family.counts('TERM')).toEqual(once(everyone));
      await family.end();
    },
  );

  it.concurrent.each([
    { title: 'the group of the command', options: [], names: ['main', 'child'] },
    { title: 'the command alone', options: ['--foreground'], names: ['main'] },
  ])('a signal is relayed to $title', async ({ options, names }) => {
    const family = await new Family(['main', 'child', 'group'], { options }).ready();
    family.guard.send('relay 10\n');
    await family.hears('USR1', names);
    const counts = await family.counts('USR1');
    const heard = Object.keys(counts).filter((name) => counts[name] === 1);
    expect(heard).toEqual(names);
    await family.end();
  });
});
