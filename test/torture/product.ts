// The product under torture: as it is, or built anew from a copy of src/ with a deliberate mistake
// in it.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { scratchFolder } from '../servers/watchdog.ts';

/** A mistake in the product, which its scene must find. */
export interface Mistake {
  readonly name: string;
  readonly breaks: string;
  /** Of files in src/; `from` occurs once. */
  readonly edits: readonly { readonly file: string; readonly from: string; readonly to: string }[];
}

export interface Product {
  /** The words in front of the options of redlock-run, and of redlockctl. */
  readonly run: readonly string[];
  readonly ctl: readonly string[];
}

const build = `
import { bundlePackage } from './scripts/bundle.js';
import { buildGuard } from './scripts/guard.js';
await bundlePackage('dist');
await buildGuard('dist');
`;

export function productIn(folder: string): Product {
  const program = (name: string) => [process.execPath, join(folder, 'bin', `${name}.js`)];
  return { run: program('redlock-run'), ctl: program('redlockctl') };
}

/** Throws when the mistake does not apply or does not build. */
export function mistaken({ name, edits }: Mistake): Product {
  const folder = join(scratchFolder(), name);
  mkdirSync(folder);
  const copied = ['src', 'scripts', 'bin', 'packaging', 'package.json', 'tsconfig.json'];
  for (const part of copied) cpSync(part, join(folder, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of edits) {
    const path = join(folder, 'src', file);
    const text = readFileSync(path, 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${name} does not apply: ${file}: ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
  }
  execFileSync(process.execPath, ['--input-type=module', '-e', build], { cwd: folder });
  return productIn(folder);
}
