// `npm run bench -- [startup|cycles|contention|hand-over|guard|all] [--json FILE]`: how fast we are, as ratios against a peer or a floor that ran in turn with us. No
// test: machines are noisy, and a figure proves nothing alone. The surprise: everything is measured in rounds that take
// turns, A B C A B C, so that a machine that slows down slows all of them down.

import { writeFileSync } from 'node:fs';
import os from 'node:os';
import { parseArgs } from 'node:util';
import { nothingLeft, startMasters, stopAll } from '../servers/masters.ts';
import { contention } from './contention.ts';
import { cycles } from './cycles.ts';
import { guard } from './guard.ts';
import { handOver } from './hand-over.ts';
import { startup } from './startup.ts';

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
const [what = 'all'] = positionals;
const suites = { startup, cycles, contention, 'hand-over': handOver, guard };
if (what !== 'all' && !(what in suites)) {
  process.stderr.write(`bench: ${what}: no such benchmark (write ${Object.keys(suites).join(', ')} or all)\n`);
  process.exit(64);
}
const results: Record<string, unknown> = {};
try {
  for (const [name, suite] of Object.entries(suites)) {
    if (what !== 'all' && what !== name) continue;
    const masters = name === 'cycles' ? [] : await startMasters(name === 'contention' ? 5 : 3);
    console.log(`\n${name}: Node ${process.versions.node}, masters on unix sockets`);
    results[name] = await suite(masters.map(({ url }) => url));
    if (name !== 'cycles') console.table(results[name]); // Those show each situation as it ends.
  }
} finally {
  await stopAll();
  nothingLeft();
}
if (options.json !== undefined) {
  const machine = { system: `${os.type()} ${os.release()} ${os.arch()}`, cpus: os.cpus().map(({ model }) => model) };
  writeFileSync(options.json, `${JSON.stringify({ machine, node: process.version, results }, null, 2)}\n`);
}
process.exit(0);
