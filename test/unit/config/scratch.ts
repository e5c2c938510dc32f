// A directory for one test with all places where the configuration is searched: the working
// directory, the home directory and /etc. Nothing outside of it is read; it is removed after the
// test.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { parseArguments } from '../../../src/config/arguments.ts';
import { resolveSettings, type Settings } from '../../../src/config/settings.ts';
import { temporaryFolder } from '../../servers/temporary.ts';

export interface Scene {
  /** Words before `job -- true`. */
  readonly flags?: readonly string[];
  /** NAME and the rest, instead of `job -- true`. */
  readonly words?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Text of `work/.redlockrc`, which is named by --config. */
  readonly file?: string;
  /** Other files by path; the working directory is `work`, the home directory is `home`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Instead of `home`. */
  readonly home?: string;
  readonly searchesParents?: boolean;
}

/** A new directory with `work/deep`, `home` and `etc` in it. */
export function createScratch(files: Readonly<Record<string, string>> = {}): string {
  const root = realpathSync(mkdtempSync(join(temporaryFolder(), 'redlock-run-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['work/deep', 'home', 'etc'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o600 });
  }
  return root;
}

/** The settings of a run in such a directory. */
export async function settle(
  scene: Scene,
  root = createScratch(filesOf(scene)),
  cwd = 'work',
): Promise<Settings> {
  const named = scene.file === undefined ? [] : ['--config', join(root, 'work/.redlockrc')];
  const { flags = [], words = ['job', '--', 'true'] } = scene;
  const args = parseArguments([...named, ...flags, ...words]);
  if (args.kind !== 'run') throw new Error('printed');
  return resolveSettings(args, {
    environment: { ...scene.environment },
    cwd: resolve(root, cwd),
    home: scene.home ?? join(root, 'home'),
    systemConfigFile: join(root, 'etc/redlockrc'),
    searchesParents: scene.searchesParents ?? true,
  });
}

/** The error of the settings, with the scratch directory written as `~`. */
export async function failure(
  scene: Scene,
  cwd = 'work',
): Promise<{ name: string; message: string; exitCode: unknown }> {
  const root = createScratch(filesOf(scene));
  const error: unknown = await settle(scene, root, cwd).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error('did not fail');
  const exitCode = 'exitCode' in error ? error.exitCode : error.stack;
  return { name: error.name, message: error.message.replaceAll(root, '~'), exitCode };
}

function filesOf(scene: Scene): Record<string, string> {
  return { ...scene.files, ...(scene.file === undefined ? {} : { 'work/.redlockrc': scene.file }) };
}
