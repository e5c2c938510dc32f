// @ts-check
// Installs the packages of the lock file with `npm ci`, without install scripts, when they are
// missing. It compares versions, not dates, so that switching branches installs only when packages
// differ.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, npm, root, run } from './program.js';

const cache = join(root, '.cache');
const marker = join(cache, 'installing');

/** Makes node_modules agree with package-lock.json. Throws a Failure when npm cannot. */
export async function ensureInstalled() {
  if (isInstalled()) return;
  await waitForTurn();
  try {
    if (isInstalled()) return; // Another process did, meanwhile.
    const { program, words } = npm();
    const options = ['--ignore-scripts', '--include=dev', '--no-audit', '--no-fund'];
    const { code, output } = await run(program, [...words, 'ci', ...options], {
      notice: 'installing packages (npm ci) ...',
    });
    // npm prints the error first, then its usage.
    const beginning = output.split('\n').slice(0, 15).join('\n');
    if (code !== 0) throw new Failure(code, `npm ci failed:\n${beginning}`);
  } finally {
    rmSync(marker, { force: true });
  }
}

/**
 * Whether the packages of the lock file are installed, each in its version; those for other systems
 * are not expected.
 * @returns {boolean}
 */
function isInstalled() {
  try {
    const wanted = packagesOf(join(root, 'package-lock.json'));
    const present = packagesOf(join(root, 'node_modules', '.package-lock.json'));
    return Object.entries(wanted).every(([path, { version, optional, peer }]) => {
      const found = present[path];
      return path === '' || (found === undefined ? optional || peer : found.version === version);
    });
  } catch {
    return false;
  }
}

/**
 * @param {string} lockFile
 * @returns {Record<string, { version: string, optional?: boolean, peer?: boolean }>}
 */
function packagesOf(lockFile) {
  return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
}

/** Waits for another installation, unless the process of its marker is dead. */
async function waitForTurn() {
  mkdirSync(cache, { recursive: true });
  for (;;) {
    try {
      writeFileSync(marker, String(process.pid), { flag: 'wx' });
      return;
    } catch {
      try {
        process.kill(Number(readFileSync(marker, 'utf8')), 0); // 0, ourselves: it is being written.
      } catch (error) {
        // EPERM: another user's process, which is alive.
        const { code } = /** @type {NodeJS.ErrnoException} */ (error);
        if (code !== 'EPERM') rmSync(marker, { force: true });
      }
    }
    await sleep(100);
  }
}
