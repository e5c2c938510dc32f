// One cell: a few masters, runs that contend for one or two locks, and faults by chance. What its
// seed decides: the masters, the runs, the faults and their order. What it does not: the instants
// at which the machine gets to each of them.

import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { serverProgram } from '../servers/program.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { Random } from '../sim/random.ts';
import { CellMaster, type MasterKind } from './cell-master.ts';
import { Contender, environmentIn, type Place, type Plan, shapes } from './contender.ts';
import { allKilled, faults, type Kind } from './faults.ts';
import { killedForMemory, removed } from './groups.ts';
import {
  type Ended,
  type Finding,
  judgeEnd,
  judgeFrozen,
  judgeGuard,
  judgeOutlived,
  judgeSections,
} from './judge.ts';
import type { Means } from './means.ts';
import { describe, identityOf, isThere, signal } from './processes.ts';
import type { Product } from './product.ts';
import { type Scene, sceneOf } from './scenes.ts';
import type { Done, Stage } from './stage.ts';
import { now, type OwnFault, Witness } from './witness.ts';

export interface CellWish {
  readonly seed: number;
  readonly lastsMs: number;
  readonly means: Means;
  readonly product: Product;
  readonly break: string | undefined;
  readonly scene: string | undefined;
  /** A folder for the logs of cells with findings. */
  readonly keep: string | undefined;
}

export interface CellResult {
  readonly seed: number;
  /** What the cell has besides the usual. */
  readonly scene: string;
  readonly about: string;
  readonly runCount: number;
  readonly sectionCount: number;
  /** How often each fault was done. */
  readonly faultCounts: ReadonlyMap<string, number>;
  /** How often runs ended in each way. */
  readonly endCounts: ReadonlyMap<string, number>;
  readonly shapeCounts: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  /** The longest time between two looks at the processes, in ms: how busy the machine was. */
  readonly longestPauseMs: number;
}

const usualTtlsMs = [3_000, 4_000, 5_000];
const lookEveryMs = 100;
/** How often a fault is drawn that nothing can be done with at the moment. */
const mostDraws = 8;
/** After which a run that was told to end counts as endless, however busy the machine is. */
const endWithinMs = 40_000;
/**
 * The only faults beside a mistake of torture itself. A command without the lock needs none to be
 * found, and is not found where the faults let no run have the lock.
 */
const aloneWith: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  guard: allKilled,
  lock: {},
};
/** The promise ends with the ttl; the rest is for a machine that is busy. */
const leftWithinMs = 20_000;

export async function playCell(wish: CellWish): Promise<CellResult> {
  const random = new Random(wish.seed, 'torture');
  const folder = join(scratchFolder(), `cell-${wish.seed}`);
  mkdirSync(folder);
  const log = join(folder, 'log');
  writeFileSync(log, '');
  const scene = sceneOf(random.stream('scene'), wish.means, wish.break, wish.scene);
  const masters = await startMasters(random.stream('masters'), folder, wish, scene);
  const witness = new Witness(log);
  try {
    return await new Cell(wish, random, scene, log, masters, witness).play();
  } finally {
    witness.close();
    await Promise.all(masters.map((master) => master.stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startMasters(
  random: Random,
  folder: string,
  { means }: CellWish,
  scene: Scene | null,
) {
  const program = await serverProgram();
  const count = random.chance(0.6) ? 3 : 5;
  const hasClock = means.clock !== null && scene?.masters === undefined && random.chance(0.15);
  const usual: MasterKind[] = ['forgets', 'keeps'];
  const few: MasterKind[] = means.disks ? [...usual, 'small-disk'] : usual;
  const kinds = Array.from({ length: count }, (_, index) =>
    hasClock && index === 0 ? 'clock' : random.pick(scene?.masters ?? few),
  );
  return Promise.all(
    kinds.map((kind, index) => CellMaster.start(`m${index + 1}`, kind, folder, program, means)),
  );
}

class Cell {
  readonly #wish: CellWish;
  readonly #random: Random;
  readonly #scene: Scene | null;
  readonly #stage: Stage;
  readonly #place: Place;
  readonly #locks: readonly string[];
  readonly #contenders = new Set<Contender>();
  readonly #all: Contender[] = [];
  readonly #ended: Ended[] = [];
  readonly #done: Done[] = [];
  readonly #findings: Finding[] = [];
  readonly #endAt: number;
  #isOpen = true;
  #longestPauseMs = 0;

  constructor(
    wish: CellWish,
    random: Random,
    scene: Scene | null,
    log: string,
    masters: readonly CellMaster[],
    witness: Witness,
  ) {
    this.#wish = wish;
    this.#random = random.stream('runs');
    this.#scene = scene;
    const names = ['a', 'b', 'c', 'd'].slice(0, random.integer(2, 4));
    this.#locks = names.map((name) => `torture-${wish.seed}-${name}`);
    this.#place = {
      log,
      cache: join(scratchFolder(), 'cache'),
      masters: masters.map(({ server }) => server.url),
      product: wish.product,
      means: wish.means,
    };
    this.#endAt = now() + wish.lastsMs / 1000;
    this.#stage = {
      random: random.stream('faults'),
      ttlMs: random.pick(this.#scene?.ttlsMs ?? usualTtlsMs),
      log,
      masters,
      contenders: this.#contenders,
      witness,
      isMajorityAllowed: random.chance(0.4),
      means: wish.means,
      locks: this.#locks,
      ctl: wish.product.ctl,
      environment: environmentIn(this.#place.cache, this.#place.masters),
      peopleCount: 0,
      frozen: [],
      freezing: new Set(),
      accuse: (finding) => this.#findings.push(finding),
    };
  }

  async play(): Promise<CellResult> {
    mkdirSync(this.#place.cache, { recursive: true });
    const looks = this.#look();
    const slots = 2 * this.#locks.length + this.#random.integer(0, 2);
    const contend = Array.from({ length: slots }, (_, slot) => this.#contend(slot));
    await this.#injectFaults();
    this.#isOpen = false;
    for (const contender of this.#contenders) contender.signal('SIGTERM');
    await this.#endAll(contend);
    await this.#nothingLeft();
    await looks;
    return this.#result();
  }

  /** One run after the other. */
  async #contend(slot: number): Promise<void> {
    const random = this.#random.stream(`slot ${slot}`);
    for (let turn = 0; this.#isOpen; turn += 1) {
      const contender = new Contender(this.#plan(random, slot, turn), this.#place);
      this.#contenders.add(contender);
      this.#all.push(contender);
      this.#ended.push(await contender.ended);
      this.#contenders.delete(contender);
      this.#leaveGroup(contender.plan);
      await sleep(random.around(100));
    }
  }

  #leaveGroup({ id, group }: Plan): void {
    if (group === undefined) return;
    const isShort = killedForMemory(group) > 0;
    if (isShort) this.#done.push({ at: now(), kind: 'memory ran out', target: id });
    void removed(group);
  }

  #plan(random: Random, slot: number, turn: number): Plan {
    const { ttlMs } = this.#stage;
    const isImpatient = random.chance(0.15);
    const wait = isImpatient ? random.pick([['-n'], ['-w', '1s'], ['-w', '3s']]) : [];
    const isIsolated = this.#wish.means.isolation && random.chance(0.1);
    const isLong = random.chance(0.2);
    const flags = ['--ttl', `${ttlMs}ms`, '-k', `${random.pick([200, 500, 900])}ms`, ...wait];
    const { means, break: broken } = this.#wish;
    const plan: Plan = {
      id: `${this.#wish.seed}.${slot}.${turn}`,
      lock: random.pick(this.#locks),
      shape: random.pick(shapes),
      workMs: Math.round(isLong ? random.between(1_000, 2 * ttlMs) : random.between(20, 600)),
      flags: isIsolated ? [...flags, '--isolate'] : flags,
      isIsolated,
      isImpatient,
      isLawless: broken === 'lock' && slot === 0 && turn % 3 === 1,
      isExecutable: means.executable !== null && broken === undefined && random.chance(0.2),
    };
    return this.#scene?.planned(plan, random, means) ?? plan;
  }

  async #injectFaults(): Promise<void> {
    const random = this.#random.stream('schedule');
    const { break: broken } = this.#wish;
    const alone = broken === undefined ? undefined : aloneWith[broken];
    const own = alone ?? this.#scene?.faults ?? {};
    const isOnly = alone !== undefined || (broken !== undefined && Object.keys(own).length > 0);
    const table = isOnly ? own : { ...faults, ...own };
    // Each cell has faults that are frequent in it, and some that are not there at all.
    const weights = Object.entries(table).map(([name, { weight, fault }]) => {
      const factors = name in own ? [1, 3] : [0, 1, 1, 3];
      return { name, fault, weight: weight * random.pick(factors) };
    });
    const meanMs = random.pick([40, 60, 100]);
    const going = new Set<Promise<unknown>>();
    while (now() < this.#endAt) {
      await sleep(random.around(meanMs));
      let fault: Promise<readonly Done[]> | null = null;
      for (let tries = 0; fault === null && tries < mostDraws; tries += 1)
        fault = draw(random, weights)?.fault(this.#stage) ?? null;
      if (fault === null) continue;
      const over = fault.then((done) => this.#done.push(...done));
      going.add(over);
      void over.finally(() => going.delete(over)).catch(() => {});
    }
    await Promise.all(going);
  }

  /** Looks at the processes until the cell is over. */
  async #look(): Promise<void> {
    let lookedAt = now();
    while (this.#isOpen || this.#contenders.size > 0) {
      this.#stage.witness.look();
      for (const contender of this.#contenders) contender.guards();
      for (const fault of this.#stage.witness.ownFaults.splice(0)) void this.#doneToItself(fault);
      await sleep(lookEveryMs);
      this.#longestPauseMs = Math.max(this.#longestPauseMs, (now() - lookedAt) * 1000);
      lookedAt = now();
    }
  }

  /** Counts what a program has done to itself, and lets a stopped one go on after a while. */
  async #doneToItself({ at, pid, run, what }: OwnFault): Promise<void> {
    const kind = what.replace(/ its .*/, ' a call');
    this.#done.push({ at, kind, target: run });
    const call = this.#all.find(({ plan }) => plan.id === run)?.plan.call;
    const stopped = identityOf(pid);
    if (call?.signal !== 'SIGSTOP' || stopped === null) return;
    await sleep(call.stoppedMs);
    signal(stopped, 'SIGCONT');
  }

  async #endAll(contend: readonly Promise<void>[]): Promise<void> {
    const all = Promise.all(contend).then(() => true);
    const isOver = await Promise.race([all, sleep(endWithinMs, false, { ref: false })]);
    if (isOver) return;
    for (const contender of this.#contenders) {
      const { id, shape } = contender.plan;
      const why = describe(contender.pid);
      const what = `run ${id} (${shape}) goes on ${endWithinMs / 1000} s after SIGTERM: ${why}`;
      this.#findings.push({ kind: 'endless', what, runs: [id] });
      contender.signal('SIGKILL');
    }
    await all;
  }

  /** The promise ends with the ttl: then no process and no key is left. */
  async #nothingLeft(): Promise<void> {
    const { witness, ttlMs } = this.#stage;
    // What a deliberate fault leaves stays there.
    const withinMs = this.#wish.break === undefined ? ttlMs + leftWithinMs : 1_000;
    const leftGuards = () =>
      this.#all.flatMap(({ seenGuards, plan }) =>
        seenGuards.filter(isThere).map(({ pid }) => ({ pid, run: plan.id, what: 'guard' })),
      );
    const leftProcesses = () => {
      witness.look();
      return witness.processes().map(({ pid, section }) => {
        return { pid, run: section?.run ?? '?', what: `process (${section?.shape})` };
      });
    };
    const left = await emptyWithin(withinMs, async () => [...leftProcesses(), ...leftGuards()]);
    const lawless = this.#all.filter(({ plan }) => plan.isLawless).map(({ plan }) => plan.id);
    for (const { pid, run, what } of left) {
      // Nothing ends what a command without the lock leaves.
      if (!lawless.includes(run))
        this.#findings.push({ kind: 'left', what: `${what} ${pid} of run ${run}`, runs: [run] });
      // It carries the path of this cell, or is the guard of a run of it.
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    const keys = await emptyWithin(ttlMs + leftWithinMs, () => this.#leftKeys());
    for (const what of keys) this.#findings.push({ kind: 'left', what, runs: [] });
  }

  /** Counters and histories stay. On a master with another time of day keys expire at another. */
  async #leftKeys(): Promise<readonly string[]> {
    const masters = this.#stage.masters.filter(({ kind }) => kind !== 'clock');
    const keys = await Promise.all(
      masters.map(async ({ name, server }) =>
        (await server.keys()).map((key) => `key ${key} on ${name}`),
      ),
    );
    return keys.flat().filter((key) => !/:(fence|history|mark|promotion) on /.test(key));
  }

  #result(): CellResult {
    const { witness, masters, ttlMs, log } = this.#stage;
    const sections = [...witness.sections.values()];
    const ofRun = new Map(sections.map((section) => [section.run, section]));
    const findings = [
      ...judgeSections(sections),
      ...judgeFrozen(sections, this.#stage.frozen),
      ...judgeOutlived(witness.outlived),
      ...this.#ended.flatMap((ended) => judgeEnd(ended, ofRun.get(ended.run)) ?? []),
      ...this.#ended.flatMap((ended) => judgeGuard(ended, this.#done) ?? []),
      ...this.#findings,
    ].map((finding) => ({ ...finding, what: `${finding.what}${this.#faultsOf(finding.runs)}` }));
    const { keep, seed } = this.#wish;
    if (findings.length > 0 && keep !== undefined) {
      mkdirSync(keep, { recursive: true });
      copyFileSync(log, join(keep, `cell-${seed}.log`));
    }
    return {
      seed,
      scene: this.#scene?.name ?? 'usual',
      about: `${masters.map(({ kind }) => kind).join(' ')}; ttl ${ttlMs / 1000} s`,
      runCount: this.#all.length,
      sectionCount: sections.length,
      faultCounts: countOf(this.#done.map(({ kind }) => kind)),
      endCounts: countOf(this.#ended.map(({ code, signal }) => String(signal ?? code))),
      shapeCounts: countOf(sections.map(({ shape }) => shape)),
      findings,
      longestPauseMs: this.#longestPauseMs,
    };
  }

  #faultsOf(runs: readonly string[]): string {
    const done = this.#done.filter(({ target }) => runs.includes(target));
    if (done.length === 0) return '';
    const told = done.map(({ at, kind, target }) => `${at.toFixed(3)} ${kind} ${target}`);
    return `; done to them: ${told.join(', ')}`;
  }
}

function draw<Item extends { readonly weight: number }>(
  random: Random,
  items: readonly Item[],
): Item | undefined {
  let rest = random.next() * items.reduce((sum, { weight }) => sum + weight, 0);
  return items.find(({ weight }) => {
    rest -= weight;
    return rest < 0;
  });
}

/** What is left when nothing is, or when the time is over. */
async function emptyWithin<Item>(
  ms: number,
  look: () => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  for (const endAt = now() + ms / 1000; ; ) {
    const left = await look();
    if (left.length === 0 || now() > endAt) return left;
    await sleep(200);
  }
}

function countOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}
