// The processor time of a start by package: the bundles beside the same source as modules, both
// under Node's profiler. It compares no wall-clock times (startup.ts). Node's own start is not in
// it, and a profiler makes everything slower by about a fifth; only the shares count.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { quantile } from './rounds.ts';

/** By part of the program, in ms of one processor: before the bundles, and with them. */
export type ProfileRow = { readonly modules_ms: number; readonly bundles_ms: number };

const roundCount = Number(process.env.PROFILE_ROUNDS ?? 9);
/** Microseconds between two samples. */
const interval = '100';

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
  readonly columnNumber: number;
}

export function profile(masters: readonly string[]): Record<string, ProfileRow> {
  const programs = {
    modules: fileURLToPath(new URL('peers/unbundled.js', import.meta.url)),
    bundles: path.resolve('bin/redlock-run.js'),
  };
  const args = [...masters.flatMap((url) => ['--master', url]), 'profiled', '--', 'true'];
  const measured = { modules: [] as Map<string, number>[], bundles: [] as Map<string, number>[] };
  for (let round = -1; round < roundCount; round += 1) {
    for (const name of ['modules', 'bundles'] as const) {
      const parts = partsOf(programs[name], args);
      if (round >= 0) measured[name].push(parts); // The first has no code cache.
    }
  }
  const median = (of: readonly Map<string, number>[], part: string) => {
    const ms = quantile(
      of.map((parts) => parts.get(part) ?? 0),
      0.5,
    );
    return Math.round(ms * 10) / 10;
  };
  const names = new Set(
    [...measured.modules, ...measured.bundles].flatMap((parts) => [...parts.keys()]),
  );
  const rows = [...names].map((name): [string, ProfileRow] => [
    name,
    { modules_ms: median(measured.modules, name), bundles_ms: median(measured.bundles, name) },
  ]);
  const seen = rows.filter(([, row]) => row.modules_ms >= 0.3 || row.bundles_ms >= 0.3);
  return Object.fromEntries(seen.sort(([, a], [, b]) => b.modules_ms - a.modules_ms));
}

/** One start, in ms by part. */
function partsOf(program: string, args: readonly string[]): Map<string, number> {
  const folder = mkdtempSync(path.join(tmpdir(), 'redlock-bench-'));
  try {
    const flags = ['--cpu-prof', `--cpu-prof-dir=${folder}`, '--cpu-prof-interval', interval];
    const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
    const env = { ...environment, REDLOCK_RESTART_GRACE: '0' };
    const { status } = spawnSync(process.execPath, [...flags, program, ...args], {
      stdio: 'ignore',
      env,
    });
    const [file] = readdirSync(folder);
    if (status !== 0 || file === undefined) throw new Error(`${program} exited with ${status}`);
    return added(JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Profile);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function added({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const partOfNode = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]));
  const parts = new Map<string, number>();
  const add = (part: string, ms: number) => parts.set(part, (parts.get(part) ?? 0) + ms);
  for (const [index, id] of samples.entries()) {
    const part = partOfNode.get(id);
    const ms = (timeDeltas[index] ?? 0) / 1_000;
    if (!part) continue;
    add(part, ms);
    add('together', ms);
  }
  return parts;
}

/** null: not the time of any part. */
function partOf({ functionName, url, lineNumber, columnNumber }: Frame): string | null {
  if (functionName === '(idle)' || functionName === '(root)') return null;
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (url === '' || functionName === '(program)') return 'Node, outside of JavaScript';
  if (url.startsWith('node:'))
    return /esm|cjs|modules/.test(url) ? 'Node: loading modules' : 'Node: its own modules';
  return packageOf(sourceOf(url, lineNumber, columnNumber));
}

const named = ['commander', 'ioredis'];

function packageOf(source: string): string {
  const file = source.replace('node_modules/.cache', '');
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
  if (name === undefined) return 'redlock-run';
  return named.includes(name) ? name : 'other packages';
}

const maps = new Map<string, SourceMap | null>();

/** The source file at a position of a bundle. */
function sourceOf(url: string, line: number, column: number): string {
  const file = url.startsWith('file:') ? fileURLToPath(url) : url;
  let map = maps.get(file);
  if (map === undefined) {
    const found = existsSync(`${file}.map`);
    map = found ? new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))) : null;
    maps.set(file, map);
  }
  const entry = map?.findEntry(line, column);
  return (entry && 'originalSource' in entry && entry.originalSource) || file;
}
