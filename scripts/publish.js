// @ts-check
// `npm run release:publish -- --from DIR [--dry-run]`: publishes the files of a release in steps.
// Each step looks first whether it has been done, so that a run that failed in the middle is
// started again as it is. The release workflow calls it, once for each --part, because only npm
// needs the token that names the workflow; docs/releasing.md says what it needs.

import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, npm, root, run, say, script } from './program.js';
import { actionCommit, git, pushFormula, remoteTags } from './release/git.js';
import { findRelease, makeRelease, missingFiles } from './release/github.js';
import { guardPackages } from './release/guards.js';
import { faultsOf, identity, notesOf } from './release/identity.js';
import { imageName } from './release/image.js';
import { check, goTool } from './release/tools.js';

const usage =
  'npm run release:publish -- --from DIR [--part npm|others] [--dry-run] [--image NAME] ' +
  '[--remote URL] [--tap URL]';

/**
 * @typedef {object} Publication
 * @property {string} folder the files
 * @property {string} version
 * @property {string} tag
 * @property {boolean} isNewest whether no newer version has a tag: else nothing moves back to it
 * @property {string} image without a tag
 * @property {import('./release/github.js').Place} place
 * @property {import('./release/git.js').Remote} remote
 * @property {import('./release/git.js').Remote | null} tap
 */

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {(publication: Publication) => Promise<boolean>} isDone throws where it cannot be done
 * @property {(publication: Publication) => Promise<void>} act
 */

/** @type {readonly Step[]} */
const steps = [
  npmStep('the packages of the guard', ({ version }) => guardPackages(version)),
  npmStep('the npm package', ({ version }) => [
    { name: 'redlock-run', file: `redlock-run-${version}.tgz` },
  ]),
  { name: 'the image', isDone: isImageThere, act: pushImage },
  {
    name: 'the release',
    isDone: async ({ place, tag, folder }) => {
      const release = await findRelease(place, tag);
      return release?.draft === false && missingFiles(release, folder).length === 0;
    },
    act: ({ place, tag, folder, version, isNewest }) =>
      makeRelease(place, { tag, notes: notesOf(version) ?? '', folder, isNewest }),
  },
  { name: 'the tags of the action', isDone: areTagsThere, act: pushTags },
  {
    name: 'the formula',
    isDone: async (one) => one.tap === null || !one.isNewest || !(await formula(one, true)),
    act: async (one) => void (await formula(one, false)),
  },
];

/** The steps of a part, as the arguments of slice(). */
const parts = /** @type {const} */ ({ npm: [0, 2], others: [2], all: [0] });

await script(async () => {
  const { publication, part, isDryRun } = await read();
  for (const { name, isDone, act } of steps.slice(...parts[part])) {
    if (await isDone(publication)) say(`${name}: is there`);
    else if (isDryRun) say(`${name}: would be published`);
    else {
      await act(publication);
      say(`${name}: published`);
    }
  }
  return 0;
});

async function read() {
  const text = /** @type {const} */ ({ type: 'string' });
  const options = { from: text, part: text, image: text, remote: text, tap: text };
  const flag = /** @type {const} */ ({ type: 'boolean' });
  const { values } = parseArgs({ options: { ...options, 'dry-run': flag } });
  if (!values.from) throw new Failure(64, `publish: --from: missing (usage: ${usage})`);
  const { part = 'all' } = values;
  if (!isPart(part)) throw new Failure(64, `publish: --part: ${part}: unknown (usage: ${usage})`);
  const { version, repository } = identity();
  const tag = `v${version}`;
  const found = faultsOf(tag);
  if (found.length > 0 || repository === null)
    throw new Failure(78, `publish: not prepared:\n${found.join('\n')}`);
  const folder = resolve(process.env.INIT_CWD ?? '.', values.from);
  await checkFiles(folder);
  const { env } = process;
  const server = env.GITHUB_SERVER_URL ?? 'https://github.com';
  const token = env.GH_TOKEN ?? '';
  const tap = values.tap ?? (env.HOMEBREW_TAP ? `${server}/${env.HOMEBREW_TAP}.git` : '');
  const remote = { url: values.remote ?? `${server}/${repository}.git`, token };
  const publication = {
    folder,
    version,
    tag,
    isNewest: await isNewest(remote, version),
    image: values.image ?? `ghcr.io/${repository.toLowerCase()}`,
    place: { api: env.GITHUB_API_URL ?? 'https://api.github.com', repository, token },
    remote,
    tap: tap === '' ? null : { url: tap, token: env.HOMEBREW_TAP_TOKEN ?? '' },
  };
  return { publication, part, isDryRun: values['dry-run'] ?? false };
}

/** @param {string} word @returns {word is keyof typeof parts} */
function isPart(word) {
  return Object.hasOwn(parts, word);
}

/** What is published is what the build has made. @param {string} folder */
async function checkFiles(folder) {
  await check('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: folder });
  /** @type {readonly string[]} */
  const listed = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').match(/\S+$/gm) ?? [];
  const others = readdirSync(folder).filter(
    (name) => name !== 'SHA256SUMS' && !listed.includes(name),
  );
  if (others.length > 0)
    throw new Failure(78, `publish: ${folder}: not in SHA256SUMS: ${others.join(', ')}`);
}

/**
 * @param {import('./release/git.js').Remote} remote
 * @param {string} version
 */
async function isNewest(remote, version) {
  const tags = [...(await remoteTags(remote)).keys()];
  if (!tags.includes(`v${version}`))
    throw new Failure(78, `publish: ${remote.url}: no tag v${version} (push the tag)`);
  const versions = tags
    .filter((name) => /^v\d+\.\d+\.\d+$/.test(name))
    .map((name) => name.slice(1));
  return versions.every((one) => one.localeCompare(version, 'en', { numeric: true }) <= 0);
}

/** @param {Publication} publication @param {boolean} isDryRun */
async function formula({ tap, folder, version }, isDryRun) {
  if (tap === null) return false;
  return pushFormula(tap, join(folder, 'redlock-run.rb'), version, { isDryRun });
}

/** @param {string[]} args */
function callNpm(...args) {
  const { program, words } = npm();
  return run(program, [...words, ...args, '--loglevel=error'], { notice: `npm ${args[0]} ...` });
}

/**
 * @typedef {object} Package
 * @property {string} name
 * @property {string} file
 */

/**
 * @param {string} name
 * @param {(publication: Publication) => Package[]} packagesOf
 * @returns {Step}
 */
function npmStep(name, packagesOf) {
  /** @param {Publication} publication */
  const missing = async (publication) => {
    const found = [];
    for (const one of packagesOf(publication))
      if (!(await isOnRegistry(publication, one))) found.push(one);
    return found;
  };
  return {
    name,
    isDone: async (publication) => (await missing(publication)).length === 0,
    act: async (publication) => {
      for (const one of await missing(publication)) await publishPackage(publication, one);
    },
  };
}

/** @param {Publication} publication @param {Package} one */
async function isOnRegistry({ folder, version }, { name, file }) {
  const tarball = join(folder, file);
  const { code, output } = await callNpm('view', name, 'versions', '--json');
  if (code !== 0 && output.includes('E404')) {
    throw new Failure(
      69,
      `publish: npm: ${name} is not on the registry, so it can have no trusted publisher ` +
        `(once, by hand: npm publish ${tarball} --access public; docs/releasing.md)`,
    );
  }
  if (code !== 0) throw new Failure(69, `publish: npm view: ${output.trim()}`);
  const versions = JSON.parse(output.slice(output.search(/[["]/)));
  if (![versions].flat().includes(version)) return false;
  const { output: found } = await callNpm('view', `${name}@${version}`, 'dist.integrity');
  const ours = createHash('sha512').update(readFileSync(tarball)).digest('base64');
  if (found.trim() !== `sha512-${ours}`)
    throw new Failure(
      76,
      `publish: npm: ${name}@${version} is there with other bytes (take a new version)`,
    );
  return true;
}

/** @param {Publication} publication @param {Package} one */
async function publishPackage({ folder, isNewest }, { file }) {
  // npm makes the provenance itself, where a workflow of GitHub gives it a token for that.
  const provenance = process.env.ACTIONS_ID_TOKEN_REQUEST_URL ? ['--provenance'] : [];
  const tag = isNewest ? 'latest' : 'older';
  const words = ['--access', 'public', '--tag', tag, '--ignore-scripts', ...provenance];
  const { code, output } = await callNpm('publish', join(folder, file), ...words);
  if (code !== 0) throw new Failure(69, `publish: npm publish: ${output.trim()}`);
}

/** Unpacks the image, for as long as `use` takes. @template T @param {Publication} publication
 * @param {(layout: string) => Promise<T>} use */
async function withLayout({ folder, version }, use) {
  const layout = mkdtempSync(join(tmpdir(), 'redlock-run-image-'));
  try {
    await check('tar', ['-xf', join(folder, imageName(version)), '-C', layout]);
    return await use(layout);
  } finally {
    rmSync(layout, { recursive: true, force: true });
  }
}

/** @param {Publication} publication */
async function isImageThere(publication) {
  const digest = await withLayout(publication, async (layout) => {
    const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8'));
    return index.manifests[0].digest;
  });
  const crane = await goTool('crane');
  const has = async (/** @type {string} */ tag) => {
    const words = ['digest', `${publication.image}:${tag}`];
    const { code, output } = await run(crane, words, { notice: 'crane digest ...' });
    return code === 0 && output.includes(digest);
  };
  return (await has(publication.version)) && (!publication.isNewest || (await has('latest')));
}

/** @param {Publication} publication */
async function pushImage(publication) {
  const crane = await goTool('crane');
  const name = `${publication.image}:${publication.version}`;
  await withLayout(publication, (layout) => check(crane, ['push', layout, name]));
  if (publication.isNewest) await check(crane, ['tag', name, 'latest']);
}

/** The tags from which the action is used, and what they have to name. */
async function wantedTags(/** @type {Publication} */ { tag, folder, isNewest }) {
  const commit = await actionCommit(tag, join(folder, 'SHA256SUMS'));
  const names = [`action-${tag}`, ...(isNewest ? [tag.replace(/\..*/, '')] : [])];
  return new Map(names.map((name) => [name, commit]));
}

/** @param {Publication} publication */
async function areTagsThere(publication) {
  const [wanted, present] = [await wantedTags(publication), await remoteTags(publication.remote)];
  return [...wanted].every(([name, commit]) => present.get(name) === commit);
}

/** @param {Publication} publication */
async function pushTags(publication) {
  const { url, token } = publication.remote;
  const refs = [...(await wantedTags(publication))].map(([name, commit]) => {
    // The tag of one release never moves: it fails where it names another commit.
    const force = name.startsWith('action-') ? '' : '+';
    return `${force}${commit}:refs/tags/${name}`;
  });
  await git(['push', '--quiet', url, ...refs], { token, cwd: root });
}
