// A release from its preparation to what users get, on loopback: 0.1.0, which fails in the middle
// and is started again, 0.1.1 over it, and 0.1.0 once more. The places are an npm registry and an
// API of GitHub in this process, the image registry of crane, and repositories of git. The files
// are small ones of the names of a release.

import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { guardPackages } from '../../scripts/release/guards.js';
import { goTool } from '../../scripts/release/tools.js';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { gitHub, npmRegistry } from './places.ts';

const exec = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const fresh = (name: string) => mkdtempSync(join(scratchFolder(), `${name}-`));

let npm: Awaited<ReturnType<typeof npmRegistry>>;
let github: Awaited<ReturnType<typeof gitHub>>;
let images: { address: string; stop: () => void };
let crane: string;
let checkout: string;
let remote: string;
let tap: string;
let environment: NodeJS.ProcessEnv;

const git = async (...words: string[]) => {
  const { stdout } = await exec('git', words, { cwd: checkout, env: environment });
  return stdout.trim();
};
const npmCommand = (args: string[]) => exec('npm', args, { cwd: checkout, env: environment });

async function imageRegistry() {
  const port = await new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });
  const address = `127.0.0.1:${port}`;
  const words = ['registry', 'serve', '--address', address, '--disk', fresh('images')];
  const child = spawn(crane, words, { stdio: 'ignore' });
  const isReady = () =>
    fetch(`http://${address}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually('the image registry', isReady, 60_000);
  return { address, stop: () => child.kill() };
}

async function bareRepository(name: string): Promise<string> {
  const folder = fresh(name);
  await exec('git', ['init', '--quiet', '--bare', '--initial-branch=main', folder]);
  return folder;
}

beforeAll(async () => {
  crane = await goTool('crane');
  [npm, github, images] = await Promise.all([npmRegistry(), gitHub(), imageRegistry()]);
  const home = fresh('home');
  const npmrc = `registry=${npm.url}/\n${npm.url.replace('http:', '')}/:_authToken=none\n`;
  writeFileSync(join(home, '.npmrc'), npmrc);
  environment = {
    PATH: process.env.PATH,
    HOME: home,
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(process.env.HOME ?? '', '.cache'),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_cache: join(home, 'cache'),
    npm_config_update_notifier: 'false',
    GIT_CONFIG_GLOBAL: join(home, '.gitconfig'),
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@example.com',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@example.com',
    GITHUB_API_URL: github.url,
    GH_TOKEN: 'secret',
  };
  remote = await bareRepository('remote');
  tap = await bareRepository('tap');
  checkout = fresh('checkout');
  const { stdout } = await exec('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  const wanted = /^(scripts|packaging|docs)\/|^(README|CHANGELOG)\.md$|^package(-lock)?\.json$/;
  for (const file of stdout.split('\n').filter((name) => wanted.test(name))) {
    mkdirSync(join(checkout, file, '..'), { recursive: true });
    cpSync(join(root, file), join(checkout, file));
  }
  beforeAnyRelease();
  await exec('git', ['init', '--quiet', '--initial-branch=main', checkout]);
}, generous(100_000));

/** Whatever this checkout has released already. */
function beforeAnyRelease(): void {
  const file = join(checkout, 'package.json');
  const { repository, homepage, bugs, ...others } = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify({ ...others, version: '0.1.0' }));
  writeChange('# Changelog\n\n## Unreleased\n', 'All of it.');
}

/** Adds a line to what is not released. */
function writeChange(text: string, change: string): void {
  const heading = '## Unreleased\n';
  const changed = text.replace(heading, `${heading}\n### Added\n\n- ${change}\n`);
  writeFileSync(join(checkout, 'CHANGELOG.md'), changed);
}

afterAll(() => {
  for (const place of [npm, github, images]) place?.stop();
});

/** Prepares a version, and commits, tags and pushes it. */
async function prepare(version: string, words: string[] = []): Promise<void> {
  await npmCommand(['run', 'release:prepare', '--', version, ...words]);
  await git('add', '--all');
  await git('commit', '--quiet', '-m', `Release ${version}`);
  await git('tag', `v${version}`);
  await git('push', '--quiet', remote, 'main', `v${version}`);
}

const packagesOf = (version: string) => [
  ...guardPackages(version),
  { name: 'redlock-run', file: `redlock-run-${version}.tgz` },
];

/** Small files with the names of a release, and SHA256SUMS. */
async function build(version: string): Promise<string> {
  const folder = fresh('release');
  for (const { name } of packagesOf(version)) {
    const from = fresh('package');
    const manifest = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
    writeFileSync(join(from, 'package.json'), JSON.stringify({ ...manifest, name }));
    writeFileSync(join(from, 'README.md'), `This is ${version}.\n`);
    const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
    await exec('npm', pack, { cwd: from, env: environment });
  }
  await buildImage(version, join(folder, `redlock-run-${version}-image.tar`));
  for (const name of ['install.sh', 'redlock-run.rb', 'LICENSES.txt'])
    writeFileSync(join(folder, name), `${name} of ${version}\n`);
  const sums = readdirSync(folder).map((name) => {
    const sum = createHash('sha256').update(readFileSync(join(folder, name)));
    return `${sum.digest('hex')}  ${name}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  return folder;
}

/** An OCI layout of an index with one image, as the real one. */
async function buildImage(version: string, file: string): Promise<void> {
  const work = fresh('image');
  const layer = join(work, 'layer.tar');
  await exec('tar', ['-cf', layer, '-C', checkout, 'CHANGELOG.md']);
  const name = `${images.address}/build`;
  await exec(crane, ['append', '--oci-empty-base', '-f', layer, '-t', `${name}:amd64`]);
  const label = `--label=org.opencontainers.image.version=${version}`;
  await exec(crane, ['mutate', label, '-t', `${name}:amd64`, `${name}:amd64`]);
  await exec(crane, ['index', 'append', '-m', `${name}:amd64`, '-t', `${name}:all`]);
  await exec(crane, ['pull', '--format=oci', `${name}:all`, join(work, 'layout')]);
  await exec('tar', ['-cf', file, '-C', join(work, 'layout'), '.']);
}

const publish = async (folder: string, words: string[] = []) => {
  const places = ['--image', `${images.address}/redlock-run`, '--remote', remote, '--tap', tap];
  const args = [join(checkout, 'scripts/publish.js'), '--from', folder, ...places, ...words];
  return exec(process.execPath, args, { cwd: checkout, env: environment }).then(
    ({ stderr }) => ({ code: 0, said: withoutNotices(stderr) }),
    ({ code, stderr }) => ({ code: Number(code), said: withoutNotices(String(stderr)) }),
  );
};

/** Without the lines about what takes longer than some seconds. */
function withoutNotices(stderr: string): string {
  return stderr.replace(/^redlock-run: .* \.\.\.\n/gm, '');
}

/** What users of each place would get now. */
async function state() {
  const digest = (tag: string) =>
    exec(crane, ['digest', `${images.address}/redlock-run:${tag}`]).then(
      ({ stdout }) => stdout,
      () => null,
    );
  const formula = await exec('git', ['show', 'main:Formula/redlock-run.rb'], { cwd: tap }).then(
    ({ stdout }) => stdout.trim(),
    () => null,
  );
  return {
    npm: npm.latest(),
    releases: github.releases.map(({ tag_name, draft, assets }) => [
      tag_name,
      draft,
      assets.length,
    ]),
    latestImage: await digest('latest'),
    tags: await git('ls-remote', '--tags', remote),
    formula,
  };
}

const ofNpm = ['packages of the guard', 'npm package'];
const names = [...ofNpm, 'image', 'release', 'tags of the action', 'formula'];
const lines = (what: string) => names.map((name) => `redlock-run: the ${name}: ${what}\n`).join('');

test('0.1.0, interrupted and started again; 0.1.1; 0.1.0 again', async () => {
  const first = '0.1.0';
  await git('add', '--all');
  await git('commit', '--quiet', '-m', 'Before any release');
  await git('tag', `v${first}`);
  await git('push', '--quiet', remote, 'main', `v${first}`);
  const unprepared = await publish(await build(first));
  expect(unprepared).toMatchObject({
    code: 78,
    said: expect.stringMatching(/repository: missing/),
  });
  await git('push', '--quiet', '--delete', remote, `v${first}`);
  await git('tag', '--delete', `v${first}`);

  await prepare(first, ['--repository', 'example/redlock-run']);
  const folder = await build(first);
  // The registry does not know the package: nothing is published anywhere.
  const unknown = await publish(folder);
  expect(unknown).toMatchObject({ code: 69, said: expect.stringMatching(/npm publish .*\.tgz/) });
  expect(github.releases).toEqual([]);
  const access = ['--access', 'public', '--ignore-scripts'];
  for (const { file } of packagesOf(first))
    await npmCommand(['publish', join(folder, file), ...access]);

  const before = await state();
  const dry = await publish(folder, ['--dry-run']);
  const isThere = (line: string) => ofNpm.some((name) => line.includes(`the ${name}: `));
  const all = lines('would be published').match(/.*\n/g) ?? [];
  expect(dry.said).toBe(
    all
      .map((line) => (isThere(line) ? line.replace('would be published', 'is there') : line))
      .join(''),
  );
  expect(await state()).toEqual(before);

  github.failAfter(3);
  const broken = await publish(folder);
  expect(broken).toMatchObject({
    code: 69,
    said: expect.stringMatching(/image: published\n.*502/),
  });
  expect(await state()).toMatchObject({ releases: [[`v${first}`, true, 4]], formula: null });

  github.failAfter(Number.POSITIVE_INFINITY);
  const again = await publish(folder);
  expect(again).toMatchObject({ code: 0, said: expect.stringMatching(/image: is there\n/) });
  const files = readdirSync(folder).length;
  const whole = await state();
  expect(whole).toMatchObject({
    npm: first,
    releases: [[`v${first}`, false, files]],
    formula: `redlock-run.rb of ${first}`,
  });
  expect(github.releases[0]?.body).toBe('### Added\n\n- All of it.');
  expect(await publish(folder)).toEqual({ code: 0, said: lines('is there') });
  expect(await state()).toEqual(whole);

  // The action is that of the tag, with the checksums of this release.
  await git('fetch', '--quiet', '--tags', '--force', remote);
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim();
  for (const tag of ['v0', `action-v${first}`])
    expect(await git('show', `${tag}:packaging/action/SHA256SUMS`)).toBe(sums);
  expect(await git('diff', '--name-only', `v${first}`, 'v0')).toBe('packaging/action/SHA256SUMS');

  const next = '0.1.1';
  await expect(npmCommand(['run', 'release:prepare', '--', next])).rejects.toMatchObject({
    stderr: expect.stringContaining(`CHANGELOG.md: nothing below "## ${next} (DATE)"`),
  });
  await git('checkout', '--quiet', '.');
  writeChange(readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8'), 'A change.');
  await prepare(next);
  const newer = await build(next);
  // As the workflow does it: a job for npm, and one for the others.
  const published = lines('published').match(/.*\n/g) ?? [];
  expect(await publish(newer, ['--part', 'image'])).toMatchObject({ code: 64 });
  expect(await publish(newer, ['--part', 'npm'])).toEqual({
    code: 0,
    said: published.slice(0, 2).join(''),
  });
  expect(await state()).toEqual({
    ...whole,
    npm: next,
    tags: await git('ls-remote', '--tags', remote),
  });
  expect(await publish(newer, ['--part', 'others'])).toEqual({
    code: 0,
    said: published.slice(2).join(''),
  });
  const later = await state();
  expect(later).toMatchObject({ npm: next, formula: `redlock-run.rb of ${next}` });
  expect(later.latestImage).not.toBe(whole.latestImage);
  const versions = packagesOf(next).map(({ name }) => [name, [first, next]]);
  expect(npm.published()).toEqual(Object.fromEntries(versions));
  expect(github.releases[0]?.body).toBe('### Added\n\n- A change.');

  // The older release once more: nothing goes back to it.
  await git('checkout', '--quiet', `v${first}`);
  expect(await publish(folder)).toEqual({ code: 0, said: lines('is there') });
  expect(await state()).toEqual(later);
});
