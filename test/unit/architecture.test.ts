// The shape of src/: what may import what, what the pure core must not touch, and that the map
// has these rules and every file. Read from the text of the files. A rule that matches nothing
// would always hold, so each is shown a breach first.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
);
const sources = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));

/** What each part may import beside its own files; `node`: Node's modules; `*`: packages. */
const mayImport: Record<string, readonly string[]> = {
  lock: ['node:assert'],
  text: ['lock'],
  system: ['lock', 'node'],
  redis: ['lock', 'text', 'node', '*'],
  run: ['lock', 'text', 'system', 'node', '*'],
  local: ['system', 'node', '*'],
  config: ['lock', 'text', 'system', 'run', 'redis', 'node', '*'],
  cli: ['lock', 'text', 'system', 'run', 'redis', 'config', 'node', '*'],
  ctl: ['lock', 'text', 'system', 'redis', 'config', 'cli', 'local', 'node', '*'],
  library: ['lock', 'text', 'system', 'redis', 'node'],
  '.': ['lock', 'library', '*'],
  programs: [
    'lock',
    'text',
    'system',
    'redis',
    'run',
    'local',
    'config',
    'cli',
    'ctl',
    'library',
    'node',
    '*',
  ],
};

const impurities =
  /\b(Date|performance|Math\.random|crypto|setTimeout|setInterval|setImmediate|process|console)\b/;

function partOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '.') : '.';
}

/** What stands behind `from` and `import`. */
function specifiersOf(text: string): string[] {
  const found = text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g);
  return [...found].map(([, specifier]) => specifier ?? '');
}

/** The parts, packages and Node modules that a file imports; of src/ itself, the files. */
function importsOf(file: string, text: string): string[] {
  return specifiersOf(text).map((specifier) => {
    if (specifier.startsWith('node:')) return specifier;
    if (!specifier.startsWith('.')) return '*';
    const target = path.join(path.dirname(file), specifier);
    return partOf(target) === '.' ? target : partOf(target);
  });
}

function breaches(file: string, text: string): string[] {
  const part = partOf(file);
  const allowed = [part, ...(mayImport[part] ?? [])];
  const isAllowed = (target: string) =>
    allowed.includes(target) ||
    (target.startsWith('node:') && allowed.includes('node')) ||
    (target.endsWith('.ts') && allowed.includes('.'));
  return importsOf(file, text)
    .filter((target) => !isAllowed(target))
    .map((target) => `${file} imports ${target}`);
}

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');

describe('imports point one way', () => {
  it.each([
    ['lock/x.ts', "import { x } from '../redis/x.ts';"],
    ['lock/x.ts', "import { x } from 'ioredis';"],
    ['lock/x.ts', "const x = await import('node:fs');"],
    ['run/x.ts', "import { x } from '../cli/x.ts';"],
    ['redis/x.ts', "import { x } from '../run/x.ts';"],
    ['cli/x.ts', "import { main } from '../programs/redlock-run.ts';"],
    ['cli/x.ts', "import { list } from '../ctl/list.ts';"],
    ['ctl/x.ts', "import { Run } from '../run/run.ts';"],
    ['text/x.ts', "import { Redis } from 'ioredis';"],
    ['library/x.ts', "import { runJob } from '../programs/job.ts';"],
    ['library/x.ts', "import { Redis } from 'ioredis';"],
    ['library/x.ts', "import { reportFailure } from '../cli/failure.ts';"],
    ['library/x.ts', "import { outerLeaseOf } from '../run/held.ts';"],
    ['library/x.ts', "import { Sources } from '../config/sources.ts';"],
    ['text/x.ts', "import type { RunEvent } from '../run/events.ts';"],
    ['config/x.ts', "import { renderHelp } from '../cli/help.ts';"],
    ['system/x.ts', "import { quoted } from '../text/quote.ts';"],
  ])('a breach in %s is seen: %s', (file, text) => {
    expect(breaches(file, text)).toHaveLength(1);
  });

  it.each([...sources])('%s', (file, text) => {
    expect(breaches(file, text)).toEqual([]);
  });
});

/** A way through the imports that comes back to where it began; null: there is none. */
function circleIn(texts: ReadonlyMap<string, string>): string[] | null {
  const done = new Set<string>();
  const walk = (file: string, way: readonly string[]): string[] | null => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const specifier of specifiersOf(texts.get(file) ?? '')) {
      const target = path.join(path.dirname(file), specifier);
      const circle = texts.has(target) ? walk(target, [...way, file]) : null;
      if (circle !== null) return circle;
    }
    done.add(file);
    return null;
  };
  for (const file of texts.keys()) {
    const circle = walk(file, []);
    if (circle !== null) return circle;
  }
  return null;
}

describe('imports form no circle', () => {
  it('one is seen', () => {
    const texts = new Map([
      ['a/x.ts', "import { y } from '../b/y.ts';"],
      ['b/y.ts', "import type { Z } from './z.ts';"],
      ['b/z.ts', "const x = await import('../a/x.ts');"],
    ]);
    expect(circleIn(texts)).toEqual(['a/x.ts', 'b/y.ts', 'b/z.ts', 'a/x.ts']);
  });

  it('in src', () => {
    expect(circleIn(sources)).toBeNull();
  });
});

describe('the pure core knows neither time nor chance nor the machine', () => {
  const pure = files.filter((file) => file.startsWith('lock/') || file === 'run/supervisor.ts');

  it('a breach is seen', () => {
    expect(withoutComments('const now = Date.now(); // Date')).toMatch(impurities);
    expect(withoutComments('/* Date */ const now = clock.now();')).not.toMatch(impurities);
  });

  it.each(pure)('%s', (file) => {
    expect(withoutComments(sources.get(file) ?? '')).not.toMatch(impurities);
  });
});

/** The file that starts the guard. */
const starter = 'run/guard-client.ts';

describe('execa starts the guard with its command', () => {
  const spawns = /\b(spawn|spawnSync|exec|execSync|execFile|execFileSync|fork)\(/g;
  const sourceOf = (file: string) => withoutComments(sources.get(file) ?? '');

  it('in one file, which hides the caller’s streams before it loads execa', () => {
    const importers = (specifier: RegExp) =>
      files.filter((file) => specifiersOf(sourceOf(file)).some((name) => specifier.test(name)));
    expect(importers(/^execa$/)).toEqual([starter]);
    const hidden = "import './hidden-streams.ts';";
    const loader = sourceOf(starter);
    expect(loader.indexOf(hidden)).toBeGreaterThan(-1);
    expect(loader.indexOf(hidden)).toBeLessThan(loader.indexOf("from 'execa'"));
  });

  it('and Node’s spawn only where there is no folder to start it in', () => {
    expect('const child = spawn(file, args);').toMatch(spawns);
    const text = sourceOf(starter);
    expect(text.match(spawns)).toEqual(['spawn(']);
    expect(text.match(/\bexeca\(/g)).toHaveLength(1);
    expect(text).toMatch(/cwd === null\s+\? spawn\(file, args,/);
  });
});

describe('every file', () => {
  it.each([...sources])('%s opens with a paragraph', (_, text) => {
    expect(text).toMatch(/^\/\/ .{20,}/);
  });

  it.each(['lock', 'redis', 'run', 'programs'])('of %s is in docs/architecture.md', (folder) => {
    const there = files.filter((file) => file.startsWith(`${folder}/`));
    expect(filesOnTheMap(folder).sort()).toEqual(there.sort());
  });
});

const map = readFileSync(path.join(root, '../docs/architecture.md'), 'utf8');

/** Those in the table of a folder. A name without a folder has that of the one before it. */
function filesOnTheMap(folder: string): string[] {
  const [, section = ''] = map.split(new RegExp(`^### ${folder}\\b`, 'm'));
  const [table = ''] = section.split(/^###/m);
  const cells = [...table.matchAll(/^\| (.*?\.ts) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => {
    const names = cell.split(', ');
    const shared = path.dirname(names[0] ?? '');
    return names.map((name) => path.join(folder, name.includes('/') ? '' : shared, name));
  });
}

it('docs/architecture.md says what each part may import', () => {
  for (const [part, targets] of Object.entries(mayImport)) {
    const parts = targets.filter((target) => /^[a-z]+$/.test(target) && target !== 'node');
    const cells = [part === '.' ? 'index.ts' : part, parts.join(', ') || 'nothing'];
    expect(map).toContain(`| ${cells.join(' | ')} |\n`);
  }
});
