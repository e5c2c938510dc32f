// @ts-check
// `npm run test:places [-- PLACE...] [-- ARGS]`: the tests in places that a stranger's machine may
// be: other users, folders, names, languages, variables and limits. Without PLACE: all of them.
// ARGS are those of `npm test`, such as `--project cli` or a part of a file name. It prints a row
// for each place and what failed there, and exits 1 if anything did. It needs Linux and root, and
// changes nothing of the machine: what a place needs is mounted in namespaces of its own.

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { Failure, root, say, script } from './program.js';
import { setUp } from './setup.js';

/** A user without an entry in /etc/passwd but in some places. */
const userId = 54_321;
/** 32 characters, the longest that useradd(8) takes. */
const [longRoot, longUser] = ['1', '2'].map((nth) => `christopher.longlastname.of.sal${nth}`);
const longHost = `ip-10-0-112-134.${'very-'.repeat(5)}long.compute.internal`;

/**
 * What differs from a quiet machine. `prepare`: shell lines run as root, in mount, host name and
 * network namespaces of the place. `limit`: shell lines run last, as the user of the tests.
 * @typedef {Record<string, string | undefined>} Variables
 * @typedef {object} Place
 * @property {(folder: string) => string} [checkout] where a copy of the checkout is put or linked
 * @property {boolean} [asUser] the tests belong to an ordinary user
 * @property {Variables | ((folder: string) => Variables)} [env]
 * @property {(folder: string) => string} [prepare]
 * @property {boolean} [hasOwnNet]
 * @property {string} [limit]
 * @property {number} [columns] of the terminal that they run at
 */

/** @type {Record<string, Place>} */
const single = {
  'closed-folder': { checkout: (folder) => join(folder, 'closed', 'checkout') },
  'closed-folder-of-user': {
    checkout: (folder) => join(folder, 'closed', 'checkout'),
    asUser: true,
  },
  'spaces-and-umlauts': { checkout: (folder) => join(folder, 'Meine Ablage', 'redlöck run') },
  link: { checkout: (folder) => join(folder, 'linked') },
  umask: { limit: 'umask 077' },
  'long-names': { prepare: longNames },
  'no-home': { env: { HOME: undefined } },
  'read-only-home': {
    prepare: (folder) => `mount -t tmpfs -o ro none "${folder}/home"`,
    env: (folder) => ({ HOME: join(folder, 'home') }),
  },
  'long-tmpdir': { env: longTmpdir },
  'other-file-system': {
    prepare: (folder) => `mkdir -p "${folder}/other" && mount -t tmpfs none "${folder}/other"`,
    env: (folder) => ({ TMPDIR: join(folder, 'other') }),
  },
  path: { env: oddPath },
  'time-zone': { env: { TZ: 'Asia/Kolkata' } },
  'c-locale': { env: { LC_ALL: 'C', LANG: undefined } },
  'missing-locale': { env: { LANG: 'tlh_QO.UTF-8', LC_ALL: undefined } },
  'forced-colours': { env: { FORCE_COLOR: '1' } },
  'no-colours': { env: { NO_COLOR: '1' } },
  'dumb-terminal': { env: { TERM: 'dumb' }, columns: 80 },
  'narrow-terminal': { columns: 40 },
  ci: { env: { CI: 'true' } },
  'own-configuration': {
    env: {
      REDLOCK_TTL: '7s',
      REDLOCK_NOTE: 'mine',
      REDLOCK_LOCAL: 'true',
      REDLOCK_CONFIG: '/etc/redlockrc',
    },
    prepare: ownConfiguration,
  },
  github: {
    env: {
      CI: 'true',
      GITHUB_ACTIONS: 'true',
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_REPOSITORY: 'a/b',
      GITHUB_RUN_ID: '17',
      GITHUB_WORKSPACE: '/tmp',
    },
  },
  gitlab: { env: { CI: 'true', GITLAB_CI: 'true', CI_JOB_URL: 'https://gitlab.com/a/b/-/jobs/1' } },
  'no-ipv6': {
    hasOwnNet: true,
    prepare: () => 'sysctl -qw net.ipv6.conf.all.disable_ipv6=1 || true; ip link set lo up',
  },
  'few-files': { limit: 'ulimit -n 256' },
  'one-core': { limit: 'command -v taskset >/dev/null && taskset -p 1 $$ >/dev/null' },
  'few-tools': { env: fewTools },
};

/** Most of them at once. */
const all = {
  checkout: (/** @type {string} */ folder) => join(folder, 'closed', 'My Projects', 'redlock run'),
  // What is mounted on /etc hides what was mounted below.
  prepare: (/** @type {string} */ folder) => `${ownConfiguration(folder)}\n${longNames(folder)}`,
  env: (/** @type {string} */ folder) => ({
    ...longTmpdir(folder),
    ...oddPath(folder),
    TZ: 'Asia/Kolkata',
    LC_ALL: 'C',
    FORCE_COLOR: '1',
    CI: 'true',
    REDLOCK_TTL: '7s',
    REDLOCK_NOTE: 'mine',
    GITHUB_ACTIONS: 'true',
    GITHUB_SERVER_URL: 'https://github.com',
    GITHUB_REPOSITORY: 'a/b',
    GITHUB_RUN_ID: '17',
  }),
  limit: 'umask 077',
};

/** @type {Record<string, Place>} */
const places = { ...single, all, 'all-as-user': { ...all, asUser: true } };

await script(async () => {
  const words = process.argv.slice(2);
  const end = words.findIndex((word) => word.startsWith('-') || word.includes('/'));
  const names = end < 0 ? words : words.slice(0, end);
  const args = (end < 0 ? [] : words.slice(end)).filter((word) => word !== '--');
  const unknown = names.find((name) => !(name in places));
  if (unknown !== undefined)
    throw new Failure(64, `${unknown}: no place (${Object.keys(places).join(', ')})`);
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    throw new Failure(69, 'test:places: needs Linux and root (to play the places)');
  await setUp({ server: true });
  let failed = 0;
  for (const name of names.length > 0 ? names : Object.keys(places)) {
    const folder = mkdtempSync(join(tmpdir(), 'place-'));
    try {
      if (!(await play(name, /** @type {Place} */ (places[name]), folder, args))) failed += 1;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return failed === 0 ? 0 : 1;
});

/**
 * Whether all tests were green in this place.
 * @param {string} name
 * @param {Place} place
 * @param {string} folder
 * @param {readonly string[]} args
 */
async function play(name, place, folder, args) {
  chmodSync(folder, 0o755);
  const cwd = place.checkout === undefined && !place.asUser ? root : copied(place, folder);
  const results = join(folder, 'results');
  mkdirSync(results);
  const home = join(folder, 'home');
  mkdirSync(home);
  if (place.asUser) for (const one of [results, home]) chownSync(one, userId, userId);
  const user = ['setpriv', `--reuid=${userId}`, `--regid=${userId}`, '--clear-groups'];
  const lines = [place.prepare?.(folder) ?? '', 'exec "$@"'].join('\n');
  const namespaces = ['--mount', '--uts', ...(place.hasOwnNet ? ['--net'] : [])];
  const limited = ['sh', '-c', `${place.limit ?? ''}\nexec "$@"`, 'sh'];
  const tests = [
    ...[process.execPath, 'scripts/test.js', ...args, '--reporter=json'],
    ...[`--reporter=${join(cwd, 'scripts', 'test-progress.js')}`],
    `--outputFile.json=${join(results, 'json')}`,
  ];
  // As a job of a shell: the kernel hangs up a group of processes without one if one of it is
  // stopped, as a frozen master is.
  const line = `stty cols ${place.columns}; set -m; ${tests.map(quoted).join(' ')}; exit $?`;
  const atTerminal = place.columns ? ['script', '-qec', line, '/dev/null'] : tests;
  const [program = '', ...words] = [
    // By its path, because a place may not have it.
    ...[pathOf('unshare'), ...namespaces, 'sh', '-ec', lines, 'sh'],
    ...(place.asUser ? user : []),
    ...[...limited, ...atTerminal],
  ];
  const own = typeof place.env === 'function' ? place.env(folder) : place.env;
  const env = { ...ofShell(), ...(place.asUser ? { HOME: home } : {}), ...own };
  const startedAt = performance.now();
  const child = spawn(program, words, { cwd, env, stdio: ['ignore', 2, 2] });
  const code = await new Promise((resolve) => child.once('close', resolve));
  const file = join(results, 'json');
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  if (!existsSync(file)) {
    process.stdout.write(`| ${name} | no result, exit ${code} | | | ${seconds} s |\n`);
    return false;
  }
  const told = JSON.parse(readFileSync(file, 'utf8'));
  const counts = [told.numPassedTests, told.numFailedTests, told.numPendingTests].join(' | ');
  process.stdout.write(`| ${name} | ${counts} | ${seconds} s |\n`);
  return code === 0;
}

/**
 * A copy of the checkout, or a link to it, where the place wants it.
 * @param {Place} place
 * @param {string} folder
 */
function copied({ checkout, asUser }, folder) {
  const path = checkout?.(folder) ?? join(folder, 'checkout');
  mkdirSync(dirname(path), { recursive: true });
  if (basename(path) === 'linked') {
    symlinkSync(root, path);
    return path;
  }
  say(`a copy of the checkout: ${path}`);
  const { status } = spawnSync('cp', ['-a', root, path]);
  if (status !== 0) throw new Failure(74, `${path}: cannot be copied`);
  const closed = join(folder, 'closed');
  if (asUser) spawnSync('chown', ['-R', `${userId}:${userId}`, existsSync(closed) ? closed : path]);
  if (existsSync(closed)) chmodSync(closed, 0o700);
  return path;
}

/** The environment without what npm adds for its scripts, such as the cache of its user. */
function ofShell() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
}

/** @param {string} folder */
function longNames(folder) {
  const entries = readFileSync('/etc/passwd', 'utf8').replace(/^root:/m, `${longRoot}:`);
  const file = join(folder, 'passwd');
  const own = `${longUser}:x:${userId}:${userId}::${folder}/home:/bin/sh\n`;
  writeFileSync(file, `${entries}${own}`);
  return `mount --bind "${file}" /etc/passwd; hostname "${longHost}"`;
}

/** @param {string} folder */
function ownConfiguration(folder) {
  const file = join(folder, 'redlockrc');
  writeFileSync(file, 'masters: [redis://203.0.113.1]\nttl: 9s\n');
  const upper = '"$0-upper" "$0-work"'.replaceAll('$0', `${folder}/etc`);
  const options = `lowerdir=/etc,upperdir=${folder}/etc-upper,workdir=${folder}/etc-work`;
  const overlay = `mkdir -p ${upper}; mount -t overlay overlay -o "${options}" /etc`;
  return `${overlay}; cp "${file}" /etc/redlockrc`;
}

/** @param {string} folder */
function longTmpdir(folder) {
  const path = join(folder, 'a-temporary-folder-with-a-long-name-'.padEnd(89 - folder.length, 'x'));
  mkdirSync(path, { recursive: true });
  chmodSync(path, 0o1777);
  return { TMPDIR: path };
}

/** @param {string} folder */
function oddPath(folder) {
  const [closed, other] = ['closed-bin', 'other-bin'].map((name) => join(folder, name));
  for (const path of [closed, other]) mkdirSync(path ?? '', { recursive: true });
  const file = join(other ?? '', 'redlockctl');
  writeFileSync(file, '#!/bin/sh\necho another redlockctl\n', { mode: 0o755 });
  chmodSync(closed ?? '', 0);
  const parts = [closed, join(folder, 'missing'), other, process.env.PATH];
  return { PATH: parts.join(delimiter) };
}

/** @param {string} folder */
function fewTools(folder) {
  const without = ['perl', 'tmux', 'git', 'script', 'unshare', 'setpriv', 'groff', 'strace'];
  const bin = join(folder, 'few-bin');
  mkdirSync(bin);
  for (const path of (process.env.PATH ?? '').split(delimiter).filter(existsSync)) {
    for (const name of readdirSync(path)) {
      const link = join(bin, name);
      if (!without.includes(name) && !existsSync(link)) symlinkSync(join(path, name), link);
    }
  }
  return { PATH: bin };
}

/** @param {string} name */
function pathOf(name) {
  return spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
}

/** @param {string} word */
function quoted(word) {
  return `'${word.replaceAll("'", `'"'"'`)}'`;
}
