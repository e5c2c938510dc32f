// The moving picture of the README, played again: three hosts, one lock, a queue, a refusal and a
// killed holder. Each line of the program in it must still be the one that was recorded.
// `npm run pictures` records it anew, at the pace of a reader, and writes the pictures of docs/.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentFor, useMasters } from '../cli/rig.ts';
import { ctl } from '../ctl/rig.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { type Cast, castOf, storyOf, textOfCast } from './cast.ts';
import { Hosts, obstacle } from './hosts.ts';
import {
  backup,
  hostNames,
  jobs,
  paneRows,
  playQueue,
  playTop,
  queueSize,
  topSize,
} from './scenes.ts';
import { filmOf, pictureOf, stillOf } from './svg.ts';

const isRecording = process.env.RECORD_PICTURES === '1';
const docs = join(import.meta.dirname, '../../docs');
const recording = join(import.meta.dirname, 'queue.cast');
const { masters } = useMasters(3, { transport: 'tcp' });
const textOf = (file: string) => readFileSync(file, 'utf8');
const recorded = () => castOf(textOf(recording));
const title =
  'web1 holds a lock, web2 waits and is woken, web3 is refused with 75. Then web3 holds it ' +
  'and is killed, and nothing is left of its job.';

if (obstacle !== null) console.warn(`${obstacle}: the moving picture is not played again`);

test.skipIf(obstacle !== null)('its lines are those of the program', async () => {
  const env = environmentFor(masters);
  const pace = isRecording ? 120 : 0;
  const hosts = await Hosts.open(hostNames, queueSize, env, backup, pace, paneRows);
  let cast: Cast | null = null;
  try {
    await playQueue(hosts, isRecording);
  } finally {
    cast = await hosts.close(queueSize);
  }
  if (isRecording) {
    writeFileSync(recording, textOfCast(cast));
    await writeTimeline();
  }
  expect(storyOf(cast)).toEqual(storyOf(recorded()));
});

test('the film is made from the recording', async () => {
  const film = join(docs, 'queue.svg');
  const made = await filmOf(recorded(), title);
  if (isRecording) writeFileSync(film, made);
  expect(textOf(film)).toBe(made);
  expect(made.length).toBeLessThan(300_000);
});

/** Of the same runs, when the lease of the killed one has ended. */
async function writeTimeline(): Promise<void> {
  const isFree = async () => (await ctl(masters, ['status', 'database'])).code === 0;
  await eventually('the lease has ended', isFree, 40_000);
  const file = join(mkdtempSync(join(scratchFolder(), 'timeline-')), 'page.html');
  const args = ['history', 'database', '--html', file];
  expect(await ctl(masters, args, { env: { TZ: 'UTC' } })).toMatchObject({ code: 0 });
  const page = textOf(file);
  writeFileSync(join(docs, 'timeline.svg'), pictureOf(page, 1_200, 400));
  writeFileSync(join(docs, 'timeline-narrow.svg'), pictureOf(page, 368, 790));
}

test.runIf(isRecording)('redlockctl top', async () => {
  const env = environmentFor(masters);
  const heights = [1, 1, 1, 6];
  const hosts = await Hosts.open([...hostNames, 'ops'], topSize, env, jobs, 0, heights);
  let cast: Cast | null = null;
  try {
    await playTop(hosts);
  } finally {
    cast = await hosts.close(topSize);
  }
  writeFileSync(join(docs, 'top.svg'), await stillOf(cast, 'redlockctl top'));
});
