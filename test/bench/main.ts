// The speed of redlock-run, as ratios to a peer or a floor that ran in turn with it (the words of
// the command line are read by scripts/bench.js); `-- --plot --from FILE` writes docs/ again from
// an earlier run. It is no test, because machines are noisy. Everything is measured in rounds that
// take turns, A B C A B C, so that a machine that slows down slows down all.

import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { nothingLeft, startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { beside } from './beside.ts';
import { contention } from './contention.ts';
import { cost } from './cost.ts';
import { cycles } from './cycles.ts';
import { handOver } from './hand-over.ts';
import { idle } from './idle.ts';
import { describeMachine } from './machine.ts';
import { type Run, writePage } from './page.ts';
import { profile } from './profile.ts';
import { startup } from './startup.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, plot: { type: 'boolean' }, from: { type: 'string' } },
});
if (options.from !== undefined) {
  writePage(JSON.parse(readFileSync(options.from, 'utf8')) as Run);
  process.exit(0);
}
const urlsOf = (masters: readonly TestMaster[]) => masters.map(({ url }) => url);
/** By name, with the number of masters that it needs. */
const suites: Record<
  string,
  {
    readonly masterCount: number;
    readonly run: (masters: readonly TestMaster[]) => Promise<object>;
  }
> = {
  startup: { masterCount: 3, run: (masters) => startup(urlsOf(masters)) },
  profile: { masterCount: 3, run: async (masters) => profile(urlsOf(masters)) },
  cycles: { masterCount: 0, run: cycles },
  contention: { masterCount: 5, run: (masters) => contention(urlsOf(masters)) },
  'hand-over': { masterCount: 3, run: (masters) => handOver(urlsOf(masters)) },
  cost: { masterCount: 3, run: cost },
  beside: { masterCount: 3, run: beside },
  idle: { masterCount: 3, run: (masters) => idle(urlsOf(masters)) },
};
const wanted =
  positionals.length === 0 || positionals.includes('all') ? Object.keys(suites) : positionals;
const machine = await describeMachine();
console.log(machine);
const results: Record<string, unknown> = {};
/** After each benchmark, because the next one may fail. */
const keep = () => {
  if (options.json === undefined) return;
  writeFileSync(options.json, `${JSON.stringify({ machine, results }, null, 2)}\n`);
};
try {
  for (const [name, { masterCount, run }] of Object.entries(suites)) {
    if (!wanted.includes(name)) continue;
    const masters = await startMasters(masterCount);
    console.log(`\n${name}: Node ${process.versions.node}, masters on unix sockets`);
    results[name] = await run(masters);
    keep();
    // These print each situation as it ends.
    if (name !== 'cycles' && name !== 'contention') console.table(results[name]);
  }
} finally {
  await stopAll();
  nothingLeft();
}
if (options.plot) writePage({ machine, results });
process.exit(0);
