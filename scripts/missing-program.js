// @ts-check
// Gets a program for a checkout that lacks it: as root from the package manager; as a user of
// Debian or Ubuntu unpacked into the user's cache. An installed redlock-run installs nothing.

import { Failure, isOnPath, run, say } from './program.js';

/**
 * By program, in the order in which they are looked for. `refresh`: before a second try.
 * @type {Readonly<Record<string, { install: string[], refresh: string[] | null }>>}
 */
const managers = {
  'apt-get': { install: ['install', '-y', '--no-install-recommends'], refresh: ['update'] },
  apk: { install: ['add'], refresh: ['update'] },
  dnf: { install: ['install', '-y'], refresh: null },
  yum: { install: ['install', '-y'], refresh: null },
  pacman: { install: ['-S', '--noconfirm'], refresh: ['-Sy'] },
  zypper: { install: ['--non-interactive', 'install'], refresh: ['refresh'] },
  brew: { install: ['install'], refresh: null },
};

/**
 * @typedef {object} Missing
 * @property {string} name
 * @property {() => Promise<boolean>} isFound
 * @property {Readonly<Record<string, readonly string[]>>} packages by package manager: those of
 *   which one is enough, in the order in which they are tried; names with a space between them
 *   belong together
 * @property {(packages: readonly string[]) => Promise<void>} unpack gets Debian's packages without
 *   root
 * @property {string} advice for a machine with no package manager that has it
 */

/**
 * Makes sure that a program exists. Throws a Failure with what to type.
 * @param {Missing} missing
 */
export async function ensureProgram(missing) {
  const { name, isFound, packages, unpack, advice } = missing;
  if (await isFound()) return;
  const manager = Object.keys(managers).find((one) => one in packages && isOnPath(one));
  const choices = packages[manager ?? ''] ?? [];
  if (manager !== undefined) {
    // Homebrew refuses root and needs none; all others need it.
    const mayInstall = (process.getuid?.() === 0) === (manager !== 'brew');
    if (mayInstall && (await install(name, manager, choices)) && (await isFound())) return;
    if (manager === 'apt-get') {
      await unpack(choices);
      if (await isFound()) return;
    }
  }
  const way = manager === undefined ? advice : commandOf(manager, choices);
  throw new Failure(69, `${name}: not found, and could not be installed (${way})`);
}

/**
 * @param {string} name
 * @param {string} manager
 * @param {readonly string[]} packages
 * @returns {Promise<boolean>}
 */
async function install(name, manager, packages) {
  const { install = [], refresh = null } = managers[manager] ?? {};
  for (const prepare of [null, refresh]) {
    if (prepare !== null) await runAsRoot(manager, prepare);
    for (const one of packages) {
      say(`no ${name} on this machine: ${manager} installs ${one}`);
      const words = [...install, ...one.split(' ')];
      const { code, output } = await runAsRoot(manager, words);
      if (code === 0) return true;
      say(`${manager} ${words.join(' ')} failed: ${output.trim().split('\n').at(-1)}`);
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

/**
 * @param {string} manager
 * @param {readonly string[]} packages
 */
function commandOf(manager, packages) {
  const line = [manager, ...(managers[manager]?.install ?? []), packages[0]].join(' ');
  return `${manager === 'brew' ? 'type' : 'as root, type'}: ${line}`;
}
