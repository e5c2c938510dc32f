// @ts-check
// The bundles of dist/: the programs with the packages they use, minified, as CommonJS, with source
// maps. CommonJS, because Node takes half as long again to start an ES module, and cannot cache its
// machine code. File names contain a hash of the contents, by which the code cache finds its entry
// (src/programs/code-cache.ts). ASCII only, which V8 reads without decoding.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ioredisParts } from './ioredis-parts.js';
import { root } from './program.js';
import { shortLua } from './short-lua.js';

/** In one file each, which loads the rest with the machine code of an earlier run. */
const boots = { 'redlock-run': 'src/programs/boot.ts', ctl: 'src/programs/boot.ts' };
/** They share their common code, in files of its own. */
const programs = {
  main: 'src/programs/redlock-run.ts',
  'ctl-main': 'src/programs/redlockctl.ts',
};

/**
 * Writes dist/ into a folder.
 * @param {string} folder
 */
export async function bundlePackage(folder) {
  const modules = [];
  for (const [name, file] of Object.entries(boots))
    modules.push(...(await bundle({ [name]: file }, { dir: folder, codeSplitting: false })));
  const split = { dir: folder, chunkFileNames: '[name]-[hash].js', codeSplitting: inOrder };
  modules.push(...(await bundle(programs, split)));
  modules.push(...(await bundleLibrary(join(folder, 'library'))));
  // The checkout's package.json says that files are ES modules.
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  writeFileSync(join(folder, 'LICENSES.txt'), licences(packagesOf(modules)));
}

/**
 * @type {import('rolldown').OutputOptions}
 */
const readable = { codeSplitting: false, minify: false, sourcemap: false };

/**
 * Writes the library, the only ES module, not minified, because it appears in stack traces of other
 * programs. Returns the files that went into it.
 * @param {string} folder
 */
async function bundleLibrary(folder) {
  const modules = await bundle(
    { index: 'src/index.ts' },
    { dir: folder, ...readable, format: 'esm' },
  );
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n');
  return modules;
}

/**
 * Writes the modules that scripts and tests of a checkout need as plain JavaScript into a folder.
 * @param {string} folder
 */
export async function bundleForCheckout(folder) {
  const modules = {
    'server-program': 'src/local/server-program.ts',
    'local-masters': 'src/local/local-masters.ts',
    manual: 'scripts/man-pages.ts',
  };
  await bundle(modules, { dir: folder, format: 'esm', minify: false, sourcemap: false });
}

/**
 * Writes redlock-run.js with all programs in it, not minified, so that the stack of a bug is
 * readable without a source map. Returns its packages.
 * @param {string} folder
 */
export async function bundleStandalone(folder) {
  const program = { 'redlock-run': 'src/programs/standalone.ts' };
  // Bun would write the path of this folder into the executable.
  const define = { 'import.meta.url': '"file:///redlock-run"', __dirname: '"/"' };
  return packagesOf(await bundle(program, { dir: folder, ...readable }, define));
}

/**
 * What every run needs, in three files instead of one for each combination of sharers: one to read
 * the settings, one for the job, and one that starts the guard. Each takes the modules that those
 * in front of it have left, so that a run never loads a file of redlockctl, and redlockctl the job
 * only for verbs that connect.
 */
const inOrder = {
  groups: [
    {
      name: 'redlock-run-core',
      test: among([
        'src/programs/redlock-run.ts',
        // redlockctl needs these as well, and otherwise nothing of a job, for --help.
        'src/system/process-table.ts',
        'src/system/clock.ts',
      ]),
    },
    { name: 'job-core', test: among(['src/programs/job.ts']) },
    { name: 'guard-core', test: among(['src/run/guard-client.ts']) },
    { name: 'redlockctl-core', test: among(['src/programs/redlockctl.ts']) },
  ],
};

/**
 * Functions of execa and its packages that are called while it is loaded, and do nothing but return
 * a value. Where nothing uses that, the call goes.
 */
const unusedCalls = ['createExeca', 'getIpcExport', 'getSignalsByNumber'];

/**
 * @param {readonly string[]} files
 * @returns {(id: string) => boolean}
 */
function among(files) {
  const ids = files.map((file) => join(root, file));
  return (id) => ids.includes(id);
}

/**
 * Returns the files that went into the bundles.
 * @param {Record<string, string>} programs
 * @param {import('rolldown').OutputOptions} options
 * @param {Record<string, string>} define
 * @returns {Promise<string[]>}
 */
async function bundle(programs, options, define = {}) {
  const { rolldown } = await import('rolldown'); // This file is read before packages are installed.
  const input = Object.fromEntries(
    Object.entries(programs).map(([name, file]) => [name, join(root, file)]),
  );
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    transform: { target: 'node20', define },
    plugins: [knownVersion(), await knownScripts(), ioredisParts()],
    treeshake: { manualPureFunctions: unusedCalls },
    onLog: (level, log, print) => level === 'info' || print(level, log),
  });
  const { output } = await build.write({
    format: 'cjs',
    dynamicImportInCjs: false, // Modules of Node by require(), which takes less time.
    charset: 'ascii',
    minify: true,
    comments: false,
    sourcemap: 'hidden',
    sourcemapExcludeSources: true,
    entryFileNames: '[name].js',
    ...options,
  });
  await build.close();
  return output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []));
}

/** src/system/version.ts with the number in it. */
function knownVersion() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const file = join(root, 'src', 'system', 'version.ts');
  return {
    name: 'known-version',
    load: (/** @type {string} */ id) =>
      id === file ? `export const version = ${JSON.stringify(version)};` : null,
  };
}

/** src/redis/calls/scripts.ts as a table of all scripts, with short names. */
async function knownScripts() {
  const { rolldown } = await import('rolldown');
  const file = join(root, 'src', 'redis', 'calls', 'scripts.ts');
  const define = { 'import.meta.url': JSON.stringify(pathToFileURL(file).href) };
  const build = await rolldown({ input: file, platform: 'node', transform: { define } });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  const { scriptNames, scriptOf } = await import(
    `data:text/javascript,${encodeURIComponent(output[0].code)}`
  );
  const flags = [true, false];
  const choices = flags.flatMap((hasForms) => flags.map((hasHistory) => [hasForms, hasHistory]));
  /** @type {[key: string, script: string][]} */
  const all = scriptNames.flatMap((/** @type {string} */ name) =>
    choices.map((choice) => {
      const { text, params } = scriptOf(name, ...choice);
      return [[name, ...choice].join(), JSON.stringify({ text: shortLua(text), params })];
    }),
  );
  const scripts = [...new Set(all.map(([, script]) => script))];
  const places = Object.fromEntries(all.map(([key, script]) => [key, scripts.indexOf(script)]));
  const code = `const scripts = [${scripts}], places = ${JSON.stringify(places)};
    export const scriptNames = ${JSON.stringify(scriptNames)};
    export const scriptOf = (name, hasForms = true, hasHistory = true) =>
      scripts[places[[name, hasForms, hasHistory].join()]];`;
  return { name: 'known-scripts', load: (/** @type {string} */ id) => (id === file ? code : null) };
}

/**
 * The packages of these files, by name.
 * @param {readonly string[]} modules
 */
function packagesOf(modules) {
  const folders = modules.flatMap(
    (id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\\', '/'))?.[0] ?? [],
  );
  const packages = [...new Set(folders)].map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    return { folder, name, version, license };
  });
  return packages.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The licence of every package that is in a bundle.
 * @param {ReturnType<typeof packagesOf>} packages
 */
export function licences(packages) {
  const texts = packages.map(({ folder, name, version, license }) => {
    const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
    // A package without its licence still has to be passed on with it.
    const terms = readFileSync(file === undefined ? licenceFile(license) : join(folder, file));
    return `${name} ${version} (${license})\n\n${terms.toString().trim()}\n`;
  });
  const intro = 'redlock-run contains these packages, each under its own terms.\n';
  return [intro, ...texts].join(`\n${'-'.repeat(80)}\n\n`);
}

/**
 * The file with the text of a licence.
 * @param {string} id of SPDX, without -only and -or-later
 */
export function licenceFile(id) {
  return join(root, 'packaging', 'licences', `${id}.txt`);
}
