// @ts-check
// Trees of files that become archives: the same modes and times on every machine.

import {
  chmodSync,
  copyFileSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { check } from './tools.js';

/**
 * Writes a file that everybody can read, and its folders.
 * @param {string} file
 * @param {string | Uint8Array} text
 */
export function writeText(file, text) {
  makeFolder(dirname(file));
  writeFileSync(file, text);
  chmodSync(file, 0o644);
}

/**
 * Copies a file.
 * @param {string} from
 * @param {string} to
 * @param {number} [mode]
 */
export function place(from, to, mode = 0o644) {
  makeFolder(dirname(to));
  copyFileSync(from, to);
  chmodSync(to, mode);
}

/**
 * Makes a symbolic link.
 * @param {string} target
 * @param {string} path
 */
export function link(target, path) {
  makeFolder(dirname(path));
  symlinkSync(target, path);
}

/** @param {string} folder */
export function makeFolder(folder) {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
}

/**
 * Gives everything in a folder, and itself, this time.
 * @param {string} folder
 * @param {number} epoch seconds
 */
export function setTimes(folder, epoch) {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    lutimesSync(join(folder, name), epoch, epoch);
  lutimesSync(folder, epoch, epoch);
}

/**
 * Packs an entry of a folder, `.` for all of it, into a tar file; compressed if it ends in .gz.
 * @param {{ folder: string, entry: string, file: string, epoch: number }} what
 */
export async function tar({ folder, entry, file, epoch }) {
  const format = ['--format=gnu', '--sort=name', `--mtime=@${epoch}`];
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  const compressed = file.endsWith('.gz') ? ['--use-compress-program=gzip -9n'] : [];
  await check('tar', [...format, ...owner, ...compressed, '-cf', file, '-C', folder, entry]);
}
