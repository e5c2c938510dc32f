// @ts-check
// Gets a redis-server or valkey-server for a checkout that has none: as root from the package
// manager; as a user of Debian or Ubuntu unpacked into the user's cache. An installed redlock-run
// installs nothing. The package is redis-tools, which contains the whole program
// (src/local/server-program.ts): redis-server would add a service on port 6379.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutModules } from './built.js';
import { Failure, run, say } from './program.js';

/** Tried in this order. `packages`: tried one after the other. `refresh`: before a second try. */
const managers = [
  {
    program: 'apt-get',
    install: ['install', '-y', '--no-install-recommends'],
    refresh: ['update'],
    packages: ['redis-tools', 'valkey-tools'],
  },
  { program: 'apk', install: ['add'], refresh: ['update'], packages: ['valkey', 'redis'] },
  { program: 'dnf', install: ['install', '-y'], refresh: null, packages: ['valkey', 'redis'] },
  { program: 'yum', install: ['install', '-y'], refresh: null, packages: ['redis'] },
  {
    program: 'pacman',
    install: ['-S', '--noconfirm'],
    refresh: ['-Sy'],
    packages: ['valkey', 'redis'],
  },
  {
    program: 'zypper',
    install: ['--non-interactive', 'install'],
    refresh: ['refresh'],
    packages: ['valkey', 'redis'],
  },
  { program: 'brew', install: ['install'], refresh: null, packages: ['valkey', 'redis'] },
];

/** Makes sure that a server program exists. Needs dist/. Throws a Failure with what to type. */
export async function ensureServer() {
  const { findServerProgram } = await import(
    pathToFileURL(join(checkoutModules, 'server-program.js')).href
  );
  const isFound = async () => (await findServerProgram(process.env)) !== null;
  if (await isFound()) return;
  const manager = managers.find(({ program }) => isOnPath(program));
  if (manager !== undefined) {
    // Homebrew refuses root and needs none; all others need it.
    const mayInstall = (process.getuid?.() === 0) === (manager.program !== 'brew');
    if (mayInstall && (await install(manager)) && (await isFound())) return;
    if (manager.program === 'apt-get') {
      const { unpackServer } = await import('./unpacked-server.js');
      await unpackServer();
      if (await isFound()) return;
    }
  }
  throw new Failure(69, `redis-server: not found, and could not be installed (${advice(manager)})`);
}

/**
 * @param {typeof managers[number]} manager
 * @returns {Promise<boolean>}
 */
async function install({ program, install, refresh, packages }) {
  for (const prepare of [null, refresh]) {
    if (prepare !== null) await runAsRoot(program, prepare);
    for (const name of packages) {
      say(`no redis-server on this machine: ${program} installs ${name}`);
      const { code, output } = await runAsRoot(program, [...install, name]);
      if (code === 0) return true;
      say(`${program} ${[...install, name].join(' ')} failed: ${output.trim().split('\n').at(-1)}`);
    }
    if (refresh === null) break;
  }
  return false;
}

/**
 * @param {string} program
 * @param {readonly string[]} words
 */
function runAsRoot(program, words) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return run(program, words, { notice: `${program} ${words[0]} ...`, env });
}

/** @param {typeof managers[number] | undefined} manager */
function advice(manager) {
  if (manager === undefined)
    return 'install redis-server or valkey-server, or name masters with --master';
  const { program, install, packages } = manager;
  const line = [program, ...install, packages[0]].join(' ');
  return `${program === 'brew' ? 'type' : 'as root, type'}: ${line}`;
}

/** @param {string} program */
function isOnPath(program) {
  return (process.env.PATH ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
