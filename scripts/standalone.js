// @ts-check
// `npm run build:standalone`: dist/redlock-run, one executable for hosts without Node, redlockctl
// as a link to it, and the licences of its packages. Bun compiles it, and comes from the npm
// registry into the user's cache. Its input is a bundle of bundle.js, so the executable has what
// the bundles have (ioredis-parts.js).

import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { bundleStandalone, licenceFile, licences } from './bundle.js';
import { cachePath, Failure, installIntoCache, root, run, say } from './program.js';

/** The version of the compiler, which is also the runtime in the executable. */
export const bunVersion = '1.4.5';

const executable = join(root, 'dist', 'redlock-run');
/** A link to the same file, which acts by the name it is called by. */
const other = join(root, 'dist', 'redlockctl');

/** Needs what setUp gets. Throws a Failure when there is no Bun for this system. */
export async function buildStandalone() {
  const aside = join(root, '.cache', `standalone-${process.pid}`);
  try {
    const packages = await bundleStandalone(aside);
    await compileExecutable(aside);
    writeFileSync(join(root, 'dist', 'redlock-run.LICENSES.txt'), standaloneLicences(packages));
    renameSync(join(aside, 'redlock-run'), executable);
    rmSync(other, { force: true });
    symlinkSync('redlock-run', other);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  say(`${executable}: ${(statSync(executable).size / 1e6).toFixed(0)} MB`);
}

/**
 * Compiles redlock-run.js in a folder to redlock-run beside it. The same input gives the same
 * bytes, as long as the output has this name.
 * @param {string} folder
 * @param {string} [system] such as `linux-aarch64-musl`, in the words of Bun's packages; by default
 *   this one
 */
export async function compileExecutable(folder, system) {
  const bun = await ensureBun('bun');
  const target =
    system === undefined
      ? []
      : [
          `--target=bun-${system.replace('aarch64', 'arm64')}`,
          '--compile-executable-path',
          await ensureBun(`@oven/bun-${system}`),
        ];
  // Executables of Bun would read .env and bunfig.toml of any working directory.
  const unfound = ['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'];
  const files = ['redlock-run.js', '--outfile', 'redlock-run'];
  const words = ['build', '--compile', '--bytecode', ...unfound, ...target, ...files];
  const { code, output } = await run(bun, words, { notice: 'compiling ...', cwd: folder });
  if (code !== 0) throw new Failure(code, `Bun could not compile it:\n${output}`);
}

/**
 * The licences of what is in the executable.
 * @param {Parameters<typeof licences>[0]} packages
 */
export function standaloneLicences(packages) {
  const parts = texts('Bun', 'LGPL-2.1', 'GPL-3.0', 'GCC-exception-3.1');
  return `${licences(packages)}${bunLicence}${parts}`;
}

const bunLicence = `
${'-'.repeat(80)}

Bun ${bunVersion} (MIT), with JavaScriptCore (LGPL-2.1), the libraries that are listed below, and on
Linux libstdc++ and libgcc of GCC (GPL-3.0 with the GCC Runtime Library Exception). The licences of
Bun, JavaScriptCore and GCC follow. Sources, and how to build Bun with another JavaScriptCore:
https://bun.com/docs/project/licensing
https://gcc.gnu.org
`;

/**
 * Licences in full.
 * @param {readonly string[]} ids
 */
export function texts(...ids) {
  return ids.map((id) => notice(id, readFileSync(licenceFile(id), 'utf8'))).join('');
}

/** A part of LICENSES.txt. @param {string} heading @param {string} text */
export function notice(heading, text) {
  return `\n${'-'.repeat(80)}\n\n${heading}\n\n${text}`;
}

/**
 * The path of Bun, downloaded when it is not in the user's cache, without install scripts.
 * @param {string} name `bun`, which brings that of this system, or the package of another system
 * @returns {Promise<string>}
 */
async function ensureBun(name) {
  const folder = cachePath(`${basename(name)}${bunVersion}`);
  const found = bunIn(folder);
  if (found !== null) return found;
  // Packages of other systems are refused otherwise.
  await installIntoCache(folder, `${name}@${bunVersion}`, name === 'bun' ? [] : ['--force']);
  const installed = bunIn(folder);
  if (installed === null)
    throw new Failure(69, `${name} ${bunVersion}: has no binary for this system`);
  return installed;
}

/** @param {string} folder */
function bunIn(folder) {
  const packages = join(folder, 'node_modules', '@oven');
  const files = existsSync(packages)
    ? readdirSync(packages).map((name) => join(packages, name, 'bin', 'bun'))
    : [];
  return files.find(existsSync) ?? null;
}
