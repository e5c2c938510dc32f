// The shape of src/: who may import whom, what the pure core must not touch, and that the map names every file. Read from the
// text of the files. The surprise: a rule that matches nothing would always hold, so each is shown a breach first.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../src');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
const sources = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));

/** What each part may import, beside its own files; `node` stands for Node's modules, `*` for packages. */
const mayImport: Record<string, readonly string[]> = {
  lock: ['node:assert'],
  text: [],
  redis: ['lock', 'text', 'node', '*'],
  run: ['lock', 'node', '*'],
  local: ['node', '*'],
  cli: ['lock', 'text', 'run', 'redis', 'node', '*'],
  ctl: ['lock', 'text', 'redis', 'cli', 'local', 'node', '*'],
  library: ['lock', 'text', 'redis', 'cli', 'system-clock.ts', 'node'],
  '.': ['lock', 'text', 'redis', 'run', 'local', 'cli', 'ctl', 'library', 'node', '*'],
};

const impurities = /\b(Date|performance|Math\.random|crypto|setTimeout|setInterval|setImmediate|process|console)\b/;

function partOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '.') : '.';
}

/** The parts, packages and Node modules that a file imports; of src/ itself, the files. */
function importsOf(file: string, text: string): string[] {
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, specifier]) => specifier ?? '');
  return specifiers.map((specifier) => {
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
    ['cli/x.ts', "import { main } from '../main.ts';"],
    ['cli/x.ts', "import { list } from '../ctl/list.ts';"],
    ['ctl/x.ts', "import { Run } from '../run/run.ts';"],
    ['text/x.ts', "import { Redis } from 'ioredis';"],
    ['library/x.ts', "import { runJob } from '../job.ts';"],
    ['library/x.ts', "import { Redis } from 'ioredis';"],
  ])('a breach in %s is seen: %s', (file, text) => {
    expect(breaches(file, text)).toHaveLength(1);
  });

  it.each([...sources])('%s', (file, text) => {
    expect(breaches(file, text)).toEqual([]);
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

describe('every file', () => {
  it.each([...sources])('%s opens with a paragraph, and is short enough to be one thing', (_, text) => {
    expect(text).toMatch(/^\/\/ .{20,}/);
    expect(text.split('\n').length).toBeLessThan(300);
  });

  it('of the core stands in the map', () => {
    const map = readFileSync(path.join(root, 'README.md'), 'utf8');
    const core = files.filter((file) => /^(lock|redis)\/|^[^/]+$/.test(file));
    expect(core.filter((file) => !map.includes(path.basename(file)))).toEqual([]);
  });
});
