// The guard of a checkout, compiled by what a machine has: in programs of their own, because the
// PATH is theirs.

import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../servers/watchdog.ts';

const script = path.resolve(import.meta.dirname, '../../../scripts/guard.js');

/** The path of a program of this machine; null: it has none. */
function pathOf(program: string): string | null {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const files = folders.map((folder) => path.join(folder, program));
  return files.find(isExecutable) ?? null;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Compiles the guard with nothing on the PATH but what `programs` has. */
function build(programs: Readonly<Record<string, string>>) {
  const [bin, out, cache] = ['bin-', 'out-', 'cache-'].map((name) =>
    mkdtempSync(path.join(scratchFolder(), name)),
  ) as [string, string, string];
  for (const [name, target] of Object.entries(programs)) symlinkSync(target, path.join(bin, name));
  const text = `
    const { buildGuard } = await import(${JSON.stringify(script)});
    await buildGuard(${JSON.stringify(out)}).catch(({ exitCode, message }) => {
      console.log(message);
      process.exitCode = exitCode;
    });`;
  const words = ['--input-type=module', '--eval', text];
  const env = { PATH: bin, XDG_CACHE_HOME: cache };
  const { status, stdout } = spawnSync(process.execPath, words, { encoding: 'utf8', env });
  return { status, stdout, guard: path.join(out, 'redlock-guard') };
}

test('a machine with neither a compiler nor a package manager gets one line', () => {
  const line = expect.stringMatching(/^C compiler: not found, and could not be .* \(.+\)\n$/);
  expect(build({})).toMatchObject({ status: 69, stdout: line });
});

/** The tools that a compiler of the system calls. */
const tools = () =>
  Object.fromEntries(
    ['as', 'ld'].flatMap((name) => {
      const file = pathOf(name);
      return file === null ? [] : [[name, file]];
    }),
  );

const compiler = pathOf('gcc') ?? pathOf('clang');

test.runIf(compiler !== null)('a compiler that lacks the headers of C is passed over', () => {
  const broken = path.join(mkdtempSync(path.join(scratchFolder(), 'broken-')), 'cc');
  writeFileSync(broken, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const { status, guard } = build({ cc: broken, gcc: compiler ?? '', ...tools() });
  expect(status).toBe(0);
  expect(spawnSync(guard, ['--check']).status).toBe(0);
});

const tcc = pathOf('tcc');

test.runIf(tcc !== null)('tcc compiles it, whose versions in Debian lack <stdatomic.h>', () => {
  const { status, guard } = build({ tcc: tcc ?? '' });
  expect(status).toBe(0);
  expect(spawnSync(guard, ['--check']).status).toBe(0);
});
