// The pictures of docs/algorithm.md: two short stories, played on a stage and drawn from what stood
// on the servers and what the programs believed. A bar on a master ends with its key and grows when
// that is extended, so the last state of each bar is its whole history.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkout } from './mutant-build.ts';
import { type Bar, type HostRows, type Note, svgOf } from './picture.ts';
import { key, Stage } from './stage.ts';

interface Story {
  readonly title: string;
  readonly ms: number;
  readonly stage: () => Stage;
  /** The events, besides what the programs do by themselves. */
  readonly script: (stage: Stage, tell: (text: string, laneOf?: string) => void) => void;
}

const sampleMs = 2;
const timings = {
  ttlMs: 1_000,
  graceMs: 150,
  marginMs: 100,
  reserveMs: 250,
  masterTimeoutMs: 50,
  extendEveryMs: 333,
};

export const stories: Readonly<Record<string, Story>> = {
  lease: {
    title: 'Two runs of the same name on five masters, of which one freezes and one restarts empty',
    ms: 2_300,
    stage: () => new Stage({ masterCount: 5, ...timings, restartGraceMs: 0 }),
    script(stage, tell) {
      const { world } = stage;
      stage.program('c1', { habits: { workMs: 1_700 } });
      world.at(250, () => {
        tell('begins to wait', 'c2');
        stage.program('c2', { waitMs: 10_000, habits: { workMs: 400 } });
      });
      world.at(400, () => {
        tell('freezes', 'm4');
        stage.server(3).freeze();
      });
      world.at(1_250, () => {
        tell('thaws', 'm4');
        stage.server(3).thaw();
      });
      world.at(500, () => {
        tell('down', 'm5');
        stage.server(4).stop();
        stage.server(4).redis.restore(null);
      });
      world.at(900, () => {
        tell('up, empty: repaired', 'm5');
        stage.server(4).start();
      });
    },
  },
  lost: {
    title:
      'A run is cut off from three of five masters: ' +
      'its command ignores the stop signal and is killed',
    ms: 2_100,
    // It is cut off below: this is no calm world.
    stage: () =>
      new Stage({ masterCount: 5, ...timings, restartGraceMs: 0, partitionEveryMs: 480 }),
    script(stage, tell) {
      const { world, network } = stage;
      stage.program('c1', { habits: { obeysInMs: null } });
      world.at(250, () => {
        tell('begins to wait', 'c2');
        stage.program('c2', { waitMs: 10_000, habits: { workMs: 600 } });
      });
      world.at(480, () => {
        tell('cut off from m1, m2, m3', 'c1');
        for (const name of ['m1', 'm2', 'm3']) {
          const { toServer, toClient } = network.link('c1', name);
          toServer.block();
          toClient.block();
        }
      });
    },
  },
};

/**
 * Plays a story and returns its picture as SVG text. A finding of a checker is thrown as an error.
 */
export async function draw({ title, ms, stage: build, script }: Story): Promise<string> {
  const stage = build();
  const notes: Note[] = [];
  const lanes = new Map<string, HostRows>();
  for (const name of ['c1', 'c2', ...stage.servers.map((server) => server.name)])
    lanes.set(name, { name, bars: [] });
  script(stage, (text, lane = 'c1') => notes.push({ atMs: stage.world.now, text, lane }));
  for (let at = 0; at < ms; at += sampleMs) stage.world.at(at, () => sample(stage, lanes));
  await stage.pass(ms);
  const [finding] = stage.findings;
  if (finding) throw new Error(`${finding.property}: ${finding.text}`);
  return svgOf({ title, ms, lanes: [...lanes.values()], notes });
}

function sample({ world, servers, witness }: Stage, lanes: ReadonlyMap<string, HostRows>): void {
  const grow = (name: string, kind: Bar['kind'], owner: string, untilMs: number) => {
    const bars = lanes.get(name)?.bars ?? [];
    const last = bars.findLast((bar) => bar.kind === kind && bar.owner === owner);
    if (last && last.untilMs >= world.now - 2 * sampleMs) last.untilMs = untilMs;
    else bars.push({ kind, owner, fromMs: world.now, untilMs });
  };
  const end = (name: string, kind: Bar['kind'], owner: string) => {
    for (const bar of lanes.get(name)?.bars ?? []) {
      if (bar.kind === kind && bar.owner === owner) bar.untilMs = Math.min(bar.untilMs, world.now);
    }
  };
  for (const server of servers) {
    const value = server.redis.get(key);
    const owner = value?.slice(0, 2) ?? '';
    for (const other of ['c1', 'c2']) if (other !== owner) end(server.name, 'key', other);
    if (value !== null) grow(server.name, 'key', owner, server.redis.goneAt(key));
    if (server.isFrozen || server.isDown) grow(server.name, 'away', '', world.now);
  }
  for (const { value, isBelieved, validUntil, tree } of witness.holdings.values()) {
    const owner = value.slice(0, 2);
    if (isBelieved && validUntil > world.now) grow(owner, 'belief', owner, validUntil);
    else end(owner, 'belief', owner);
    if (tree?.isRunning) grow(owner, 'command', owner, world.now);
  }
}

/** Writes docs/NAME.svg for every story. */
export async function drawAll(): Promise<number> {
  for (const [name, story] of Object.entries(stories)) {
    const file = path.join(checkout(), 'docs', `${name}.svg`);
    writeFileSync(file, await draw(story));
    console.log(`docs/${name}.svg`);
  }
  return 0;
}
