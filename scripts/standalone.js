// @ts-check
// `npm run build:standalone`: dist/redlock-run, one executable for hosts without Node, redlockctl
// as a link to it, and the licences of its packages. Bun compiles it, and comes from the npm
// registry into the user's cache. Its input is a bundle of bundle.js, so the executable has what
// the bundles have (ioredis-parts.js).

import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from './built.js';
import { bundleStandalone } from './bundle.js';
import { ensureInstalled } from './installed.js';
import { Failure, npm, root, run, say } from './program.js';

/** The version of the compiler, which is also the runtime in the executable. */
const bunVersion = '1.4.5';

const executable = join(root, 'dist', 'redlock-run');
/** A link to the same file, which acts by the name it is called by. */
const other = join(root, 'dist', 'redlockctl');

/** Builds dist/redlock-run. Throws a Failure when there is no Bun for this system. */
export async function buildStandalone() {
  await ensureInstalled();
  await ensureBuilt();
  const bun = await ensureBun();
  const aside = join(root, '.cache', `standalone-${process.pid}`);
  try {
    const licences = await bundleStandalone(aside);
    // Executables of Bun would read .env and bunfig.toml of any working directory.
    const unfound = ['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'];
    const target = ['redlock-run.js', '--outfile', 'redlock-run'];
    const words = ['build', '--compile', '--bytecode', ...unfound, ...target];
    const { code, output } = await run(bun, words, { notice: 'compiling ...', cwd: aside });
    if (code !== 0) throw new Failure(code, `Bun could not compile it:\n${output}`);
    const made = join(aside, 'redlock-run');
    writeFileSync(join(root, 'dist', 'redlock-run.LICENSES.txt'), `${licences}${bunLicence}`);
    renameSync(made, executable);
    rmSync(other, { force: true });
    symlinkSync('redlock-run', other);
  } finally {
    rmSync(aside, { recursive: true, force: true });
  }
  say(`${executable}: ${(statSync(executable).size / 1e6).toFixed(0)} MB`);
}

const bunLicence = `
${'-'.repeat(80)}

Bun ${bunVersion} (MIT), with JavaScriptCore (LGPL-2.1) and the libraries that its own licence page
names:
https://bun.com/docs/project/licensing
`;

/** The path of Bun, downloaded when it is not in the user's cache, without install scripts. */
async function ensureBun() {
  const folder = join(
    process.env.XDG_CACHE_HOME || join(homedir(), '.cache'),
    'redlock-run',
    `bun${bunVersion}`,
  );
  const found = bunIn(folder);
  if (found !== null) return found;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const { program, words } = npm();
  const install = [
    ...words,
    'install',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `bun@${bunVersion}`,
  ];
  const env = { ...process.env, npm_config_local_prefix: undefined };
  const { code, output } = await run(program, install, {
    notice: `downloading bun ${bunVersion} ...`,
    env,
    cwd: folder,
  });
  const got = bunIn(folder);
  if (code !== 0 || got === null)
    throw new Failure(69, `no Bun ${bunVersion} for this system:\n${output}`);
  return got;
}

/** @param {string} folder */
function bunIn(folder) {
  const packages = join(folder, 'node_modules', '@oven');
  const files = existsSync(packages)
    ? readdirSync(packages).map((name) => join(packages, name, 'bin', 'bun'))
    : [];
  return files.find(existsSync) ?? null;
}
