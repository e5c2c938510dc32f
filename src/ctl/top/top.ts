// `redlockctl top`: locks, holders, wait queues and masters, refreshed once a second until q is
// pressed. It changes nothing. q ends it at once, even while a frozen master is awaited.

import { Chalk } from 'chalk';
import { mayColour } from '../../cli/colour.ts';
import { quorumOf } from '../../lock/quorum.ts';
import { UsageError } from '../../text/errors.ts';
import { exitCode } from '../../text/exit-codes.ts';
import type { Call } from '../call.ts';
import { MasterQuery } from '../master-query.ts';
import {
  type DashboardLine,
  inOrder,
  type MasterLine,
  renderDashboard,
  roomFor,
  type Tone,
} from './dashboard.ts';
import { Watch } from './watch.ts';

const everyMs = 1_000;
const ctrlC = '\x03';

export async function top({ settings, clock, openScreen }: Call): Promise<number> {
  if (openScreen === null)
    throw new UsageError(
      'top: no terminal (redlockctl list prints once, status --watch again and again)',
    );
  const query = await MasterQuery.of(settings, clock);
  const watch = new Watch(query);
  const paint = painter();
  const screen = await openScreen();
  const quit = new AbortController();
  const quits = new Promise<null>((resolve) =>
    quit.signal.addEventListener('abort', () => resolve(null)),
  );
  screen.onKey((key) => {
    if (key === 'q' || key === 'Q' || key === ctrlC) quit.abort();
  });
  try {
    let masters: MasterLine[] | null = [];
    while (!quit.signal.aborted) {
      const room = roomFor(query.observers.length, screen.rows);
      const onScreen = inOrder(watch.locks).slice(0, room);
      masters = await Promise.race([watch.step(onScreen.map(({ name }) => name)), quits]);
      if (masters === null) break;
      const dashboard = {
        now: new Date(),
        masters,
        quorum: quorumOf(masters.length),
        locks: watch.locks,
        knownCount: watch.knownCount,
      };
      screen.draw(renderDashboard(dashboard, screen.columns, screen.rows).map(paint));
      await clock.sleep(everyMs, quit.signal);
    }
  } finally {
    screen.close();
    query.close();
  }
  return exitCode.ok;
}

function painter(): (line: DashboardLine) => string {
  const chalk = new Chalk(mayColour(true, process.env) ? {} : { level: 0 });
  const paints: Readonly<Record<Tone, (text: string) => string>> = {
    title: chalk.bold,
    head: chalk.bold,
    plain: (text) => text,
    bad: chalk.red,
    doubtful: chalk.yellow,
    dim: chalk.dim,
  };
  return ({ text, tone }) => paints[tone](text);
}
