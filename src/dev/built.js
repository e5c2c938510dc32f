// @ts-check
// dist/, with the man pages in it, made from src/ when it is not what src/ says: by content, so that no clock and no checkout can fool it. The
// surprise: files are compiled aside and moved into dist/ one by one, each in one step, so that two builds at once, or a
// build under a running program, do no harm.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { writeManual } from './manual.js';
import { Failure, root, run } from './program.js';

const dist = join(root, 'dist');
const stamp = join(root, '.cache', 'built');

/** Makes dist/ agree with src/. Throws a Failure, with the compiler's words, when src/ does not compile. */
export async function ensureBuilt() {
  const wanted = fingerprint();
  if (isBuilt(wanted)) return;
  const aside = join(root, '.cache', `build-${process.pid}`);
  try {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const words = [compiler, '-p', join(root, 'tsconfig.json'), '--outDir', aside];
    const { code, output } = await run(process.execPath, words, { notice: 'compiling ...' });
    if (code !== 0) throw new Failure(code, `src/ does not compile:\n${output}`);
    await writeManual(aside);
    move(aside);
    writeFileSync(stamp, wanted);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/** @param {string} wanted */
function isBuilt(wanted) {
  if (!existsSync(stamp) || !existsSync(join(dist, 'man')) || readFileSync(stamp, 'utf8') !== wanted) return false;
  return sources().every((file) => existsSync(join(dist, file.replace(/\.ts$/, '.js'))));
}

/** Everything that decides what dist/ is. */
function fingerprint() {
  const hash = createHash('sha256');
  const others = ['package.json', 'tsconfig.json', 'node_modules/typescript/package.json'];
  for (const file of [...sources().map((name) => join('src', name)), ...others]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

function sources() {
  return filesIn(join(root, 'src')).filter((file) => file.endsWith('.ts'));
}

/**
 * Replaces dist/ by what is in the folder; what the folder does not have goes.
 * @param {string} folder
 */
function move(folder) {
  const files = new Set(filesIn(folder));
  for (const file of files) {
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    renameSync(join(folder, file), join(dist, file));
  }
  for (const file of filesIn(dist)) if (!files.has(file)) rmSync(join(dist, file), { force: true });
}

/**
 * The files under a folder, by their paths in it, sorted.
 * @param {string} folder
 * @returns {string[]}
 */
function filesIn(folder) {
  const all = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return all.filter((name) => statSync(join(folder, name)).isFile()).sort();
}
