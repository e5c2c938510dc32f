// Builds the mutants: for each a copy of the needed part of src/, of which only what it changes is
// compiled anew, all at once; kept until src/ or the mutants change. They are loaded as JavaScript
// from inside node_modules, where they find the simulated ioredis.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Mutant } from './mutant.ts';
import { mutants } from './mutants.ts';
import { type Modules, modulePaths, type System, systemOf } from './system.ts';

const parts = [
  ...['lock', 'redis', 'run', 'text', 'system', 'local'],
  ...['holdings', 'master-query', 'lock-state', 'operations'].map((name) => `ctl/${name}.ts`),
  ...['holder-daemon', 'lock-handle'].map((name) => `ctl/steps/${name}.ts`),
];

/** The folder of the checkout, from wherever this file has been compiled to. */
export function checkout(): string {
  for (let folder = import.meta.dirname; ; folder = path.dirname(folder)) {
    if (
      existsSync(path.join(folder, 'src', 'lock')) &&
      existsSync(path.join(folder, 'package.json'))
    ) {
      if (!folder.includes('node_modules')) return folder;
    }
  }
}

/**
 * Returns the folder with these mutants, compiled. Throws when one does not apply or compile.
 * `name` is that of the folder, in letters: the same for the same mutants.
 */
export function buildMutants(wanted: readonly Mutant[] = mutants, name = 'mutants'): string {
  const root = checkout();
  const cache = path.join(root, 'node_modules', '.cache', 'redlock-run');
  const folder = path.join(cache, `${name}-${fingerprint(root, wanted)}`);
  if (existsSync(folder)) return path.join(folder, 'out');
  mkdirSync(cache, { recursive: true });
  for (const old of readdirSync(cache)) {
    if (new RegExp(`^${name}-\\w+$`).test(old))
      rmSync(path.join(cache, old), { recursive: true, force: true });
  }
  const aside = path.join(cache, `building-${process.pid}`);
  rmSync(aside, { recursive: true, force: true });
  for (const mutant of wanted) writeMutant(root, path.join(aside, 'in', mutant.name), mutant);
  cpSync(path.join(root, 'src'), path.join(aside, 'in', 'src'), { recursive: true });
  for (const file of ours(root)) cpSync(path.join(root, file), path.join(aside, 'in', file));
  compile(root, aside);
  addScripts(root, path.join(aside, 'out', 'src'));
  for (const { name } of wanted) complete(aside, name);
  const shadow = path.join(aside, 'node_modules', 'ioredis');
  mkdirSync(shadow, { recursive: true });
  writeFileSync(
    path.join(shadow, 'package.json'),
    '{"name":"ioredis","type":"module","exports":"./index.js"}',
  );
  writeFileSync(
    path.join(shadow, 'index.js'),
    "export { Redis } from '../../out/test/sim/sim-ioredis.js';\n",
  );
  try {
    renameSync(aside, folder);
  } catch {
    rmSync(aside, { recursive: true, force: true }); // Another process was faster.
  }
  return path.join(folder, 'out');
}

export async function loadMutant(built: string, { name }: Mutant): Promise<System> {
  const load = async (module: string) => {
    const url = pathToFileURL(path.join(built, name, `${module}.js`)).href;
    return [module, await import(/* @vite-ignore */ url)] as const;
  };
  return systemOf(
    Object.fromEntries(await Promise.all(modulePaths.map(load))) as unknown as Modules,
  );
}

/** Writes the files that the mutant changes. */
function writeMutant(root: string, target: string, { name, edits }: Mutant): void {
  for (const { file, from, to } of edits) {
    const [changed, unchanged] = [path.join(target, file), path.join(root, 'src', file)];
    const text = readFileSync(existsSync(changed) ? changed : unchanged, 'utf8');
    const count = text.split(from).length - 1;
    if (count !== 1)
      throw new Error(
        `mutant ${name} does not apply: found ${count} times in src/${file}: ${from}`,
      );
    mkdirSync(path.dirname(changed), { recursive: true });
    writeFileSync(
      changed,
      text.replace(from, () => to),
    );
  }
}

/** Puts the files that a mutant does not change beside those that it does. */
function complete(folder: string, name: string): void {
  const out = path.join(folder, 'out');
  const scripts = path.join(name, 'redis', 'scripts');
  if (existsSync(path.join(folder, 'in', scripts)))
    cpSync(path.join(folder, 'in', scripts), path.join(out, scripts), { recursive: true });
  for (const part of parts.map((one) => one.replace(/\.ts$/, '.js'))) {
    const [from, to] = [path.join(out, 'src', part), path.join(out, name, part)];
    cpSync(from, to, { recursive: true, force: false });
  }
}

function compile(root: string, folder: string): void {
  const config = {
    extends: path.join(root, 'tsconfig.json'),
    // The types of the checkout are checked elsewhere; a mutant need not satisfy them.
    compilerOptions: { rootDir: 'in', outDir: 'out', noCheck: true, types: [] },
    include: ['in/**/*.ts'],
    exclude: [],
  };
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
  const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-p', folder], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Copies what is not TypeScript, which the compiler leaves out. */
function addScripts(root: string, target: string): void {
  const scripts = path.join('redis', 'scripts');
  cpSync(path.join(root, 'src', scripts), path.join(target, scripts), { recursive: true });
}

function ours(root: string): string[] {
  const names = readdirSync(path.join(root, 'test', 'sim'));
  return names
    .filter((name) => /(?<!\.test)\.ts$/.test(name))
    .map((name) => path.join('test', 'sim', name));
}

function fingerprint(root: string, wanted: readonly Mutant[]): string {
  const hash = createHash('sha256').update(JSON.stringify(wanted));
  const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' });
  const files = [
    ...sources.filter((name) => /\.(ts|lua)$/.test(name)).map((name) => path.join('src', name)),
    ...ours(root),
  ];
  for (const file of files.sort()) hash.update(file).update(readFileSync(path.join(root, file)));
  return hash.digest('hex').slice(0, 16);
}
