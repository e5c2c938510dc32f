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
import { pathToFileURL } from 'node:url';
import { bundleForCheckout, bundlePackage } from './bundle.js';
import { buildGuard } from './guard.js';
import { Failure, root, run, tsc } from './program.js';

const dist = join(root, 'dist');
const cache = join(root, '.cache');
/** Modules of src/ as plain JavaScript, for the scripts of a checkout: see bundle.js. */
export const checkoutModules = join(cache, 'modules');
/** The hash of what dist/ was made from, and the files that were made. */
const stamp = join(cache, 'built.json');

/** Makes dist/ up to date. Throws a Failure with the output of a failed compiler. */
export async function ensureBuilt() {
  const wanted = fingerprint();
  if (isBuilt(wanted)) return;
  const aside = join(cache, `build-${process.pid}`);
  try {
    const types = join(aside, 'types');
    const options = [
      '--declaration',
      '--stripInternal',
      '--emitDeclarationOnly',
      '--outDir',
      types,
    ];
    const { code, output } = await run(process.execPath, [tsc, '-p', root, ...options], {
      notice: 'compiling ...',
    });
    if (code !== 0) throw new Failure(code, `src/ does not compile:\n${output}`);
    await bundlePackage(join(aside, 'dist'));
    await buildGuard(join(aside, 'dist'));
    copyTypes(types, 'index.d.ts', join(aside, 'dist', 'library', 'types'));
    await bundleForCheckout(join(aside, 'modules'));
    await writeManual(join(aside, 'dist', 'man'), join(aside, 'modules', 'manual.js'));
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

/**
 * Writes the man pages. They are made from the tables of the programs, and so agree with --help.
 * @param {string} folder
 * @param {string} module
 */
async function writeManual(folder, module) {
  const { renderManual } = await import(pathToFileURL(module).href);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  mkdirSync(folder);
  for (const [name, text] of renderManual(version)) writeFileSync(join(folder, name), text);
}

/** @param {string} wanted */
function isBuilt(wanted) {
  if (!existsSync(stamp)) return false;
  const built = JSON.parse(readFileSync(stamp, 'utf8'));
  return built.wanted === wanted && built.files.every(existsSync);
}

/** A hash of all inputs of the build, and of all scripts. */
function fingerprint() {
  const hash = createHash('sha256');
  const isInput = (/** @type {string} */ file) => /\.(ts|js|lua|c|h)$/.test(file);
  const inputs = ['src', 'scripts'].flatMap((folder) =>
    filesIn(join(root, folder))
      .filter(isInput)
      .map((name) => join(folder, name)),
  );
  for (const file of [...inputs, 'tsconfig.json', 'package.json', 'package-lock.json'])
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
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
