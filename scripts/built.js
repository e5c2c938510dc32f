// @ts-check
// Makes dist/, with the man pages, from src/ when it is out of date, by a hash of the contents.
// Files are built aside and moved into dist/ one by one, so that two builds at once, or a build
// under a running program, do no harm.

import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { bundleForCheckout, bundlePackage } from './bundle.js';
import { buildGuard } from './guard.js';
import { writeManual } from './manual.js';
import { Failure, root, run } from './program.js';
import { library } from './programs.js';

const dist = join(root, 'dist');
const cache = join(root, '.cache');
/** Modules of src/ as plain JavaScript, for the scripts of a checkout: see programs.js. */
export const checkoutModules = join(cache, 'modules');
/** The hash of what dist/ was made from, and the files that were made. */
const stamp = join(cache, 'built.json');

/** Makes dist/ up to date. Throws a Failure with the output of a failed compiler. */
export async function ensureBuilt() {
  const wanted = fingerprint();
  if (isBuilt(wanted)) return;
  const aside = join(cache, `build-${process.pid}`);
  try {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const types = join(aside, 'types');
    const words = [
      compiler,
      '-p',
      join(root, 'tsconfig.json'),
      '--declaration',
      '--stripInternal',
      '--emitDeclarationOnly',
      '--outDir',
      types,
    ];
    const { code, output } = await run(process.execPath, words, { notice: 'compiling ...' });
    if (code !== 0) throw new Failure(code, `src/ does not compile:\n${output}`);
    await bundlePackage(join(aside, 'dist'));
    await buildGuard(join(aside, 'dist'));
    for (const name of Object.keys(library))
      copyTypes(types, `${name}.d.ts`, join(aside, 'dist', 'library', 'types'));
    await bundleForCheckout(join(aside, 'modules'));
    await writeManual(join(aside, 'dist'), join(aside, 'modules'));
    // Where this is cut short, dist/ is of neither the old nor the new sources.
    rmSync(stamp, { force: true });
    const files = [
      ...replace(dist, join(aside, 'dist')),
      ...replace(checkoutModules, join(aside, 'modules')),
    ];
    writeFileSync(stamp, JSON.stringify({ wanted, files }));
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
}

/**
 * Copies a file of types and the files that it imports, and no others: the package has only the
 * types of the library.
 * @param {string} from
 * @param {string} file
 * @param {string} to
 */
function copyTypes(from, file, to) {
  if (existsSync(join(to, file))) return;
  mkdirSync(dirname(join(to, file)), { recursive: true });
  copyFileSync(join(from, file), join(to, file));
  for (const [, imported = ''] of readFileSync(join(from, file), 'utf8').matchAll(
    /from '(\.[^']+)\.ts'/g,
  )) {
    copyTypes(from, join(dirname(file), `${imported}.d.ts`), to);
  }
}

/** @param {string} wanted */
function isBuilt(wanted) {
  if (!existsSync(stamp)) return false;
  const built = JSON.parse(readFileSync(stamp, 'utf8'));
  return built.wanted === wanted && built.files.every(existsSync);
}

/** A hash of all inputs of the build. */
function fingerprint() {
  const hash = createHash('sha256');
  const sources = filesIn(join(root, 'src')).filter((file) => /\.(ts|js|lua|c|h)$/.test(file));
  const tools = [
    'built.js',
    'man-pages.ts',
    'bundle.js',
    'guard.js',
    'short-lua.js',
    'programs.js',
    'ioredis-parts.js',
    'no-debug.js',
    'late-tls.js',
  ];
  const files = [
    ...sources.map((name) => join('src', name)),
    ...tools.map((name) => join('scripts', name)),
    ...['tsconfig.json', 'package.json', 'package-lock.json'],
  ];
  for (const file of files) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/**
 * Makes the files of `target` those of `folder`; others are removed. Returns all paths.
 * @param {string} target
 * @param {string} folder
 * @returns {string[]}
 */
function replace(target, folder) {
  const files = new Set(filesIn(folder));
  for (const file of files) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    renameSync(join(folder, file), join(target, file));
  }
  for (const file of filesIn(target))
    if (!files.has(file)) rmSync(join(target, file), { force: true });
  return [...files].map((file) => join(target, file));
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
