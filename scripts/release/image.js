// @ts-check
// The container image, for both processors, as an OCI layout in a tar file. crane makes it in a
// registry of its own on this machine, so that no container engine is needed. It is its own root:
// /glibc and /musl are for COPY --from; the entry point is the executable for musl.

import { spawn } from 'node:child_process';
import { chmodSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../program.js';
import { executableFile, licencesFile, sharedFolder } from './executables.js';
import { guardFile } from './guards.js';
import { projectHome } from './identity.js';
import { libraryName, musl } from './libraries.js';
import { processors, systems } from './systems.js';
import { check, goTool } from './tools.js';
import { link, makeFolder, place, setTimes, tar, writeText } from './tree.js';

/** @param {string} version */
export const imageName = (version) => `redlock-run-${version}-image.tar`;

/** The programs of busybox that have a name of their own; its shell knows all of them. */
const programs = ['sh', 'cat', 'echo', 'env', 'false', 'ls', 'printenv', 'ps', 'sleep', 'true'];

/** @param {import('./parts.js').Release} release */
export async function makeImage({ version, epoch, out, work, url }) {
  const crane = await goTool('crane');
  const folder = join(work, 'image');
  const registry = await startRegistry(crane, join(folder, 'registry'));
  try {
    const name = `${registry.address}/redlock-run`;
    const images = [];
    for (const processor of processors) {
      const root = join(folder, processor);
      await makeRoot(root, processor, work);
      setTimes(root, epoch);
      const layer = `${root}.tar`;
      await tar({ folder: root, entry: '.', file: layer, epoch });
      const tag = `${name}:${processor}`;
      await check(crane, ['append', '--oci-empty-base', '-f', layer, '-t', tag]);
      const configured = [
        `--set-platform=linux/${processor}`,
        '--entrypoint=/usr/bin/redlock-run',
        '--env=PATH=/usr/local/bin:/usr/bin:/bin',
        `--user=${nobody}:${nobody}`,
        ...Object.entries(await labels(version, epoch, url)).map(
          ([key, value]) => `--label=${key}=${value}`,
        ),
      ];
      await check(crane, ['mutate', ...configured, '-t', tag, tag]);
      images.push(`-m=${name}@${(await check(crane, ['digest', tag])).trim()}`);
    }
    await check(crane, ['index', 'append', ...images, '-t', `${name}:${version}`]);
    const layout = join(folder, 'layout');
    await check(crane, ['pull', '--format=oci', `${name}:${version}`, layout]);
    nameImage(join(layout, 'index.json'), `redlock-run:${version}`);
    await tar({ folder: layout, entry: '.', file: join(out, imageName(version)), epoch });
  } finally {
    registry.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Not root: a job that needs more says so by USER. */
const nobody = 65534;

/** Of what the SBOM says is in the image; and of what Bun links (packaging/licences/Bun.txt). */
const imageLicence = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'LGPL-2.1-only',
  'GPL-2.0-only',
  'GPL-3.0-or-later WITH GCC-exception-3.1',
  ...['BSD-2-Clause', 'BSD-3-Clause', 'IJG', 'Unicode-3.0', 'Zlib', 'libpng-2.0'],
].join(' AND ');

/**
 * @param {string} version
 * @param {number} epoch
 * @param {string | null} url of the files of the release
 */
async function labels(version, epoch, url) {
  const { code, output } = await run('git', ['rev-parse', 'HEAD'], { notice: 'git ...' });
  const known = {
    source: projectHome(url),
    revision: code === 0 ? output.trim() : '',
    created: new Date(epoch * 1000).toISOString(),
    title: 'redlock-run',
    version,
    licenses: imageLicence,
  };
  const entries = Object.entries(known).filter(([, value]) => value !== '');
  return Object.fromEntries(
    entries.map(([key, value]) => [`org.opencontainers.image.${key}`, value]),
  );
}

/** The name that the image has after `podman load`. @param {string} file @param {string} name */
function nameImage(file, name) {
  const index = JSON.parse(readFileSync(file, 'utf8'));
  index.manifests[0].annotations = { 'org.opencontainers.image.ref.name': name };
  writeText(file, JSON.stringify(index));
}

/**
 * The root of the image for a processor.
 * @param {string} root
 * @param {typeof processors[number]} processor
 * @param {string} work
 */
async function makeRoot(root, processor, work) {
  const { loader, loaderName, cpp, busybox } = await musl(processor);
  for (const libc of ['glibc', 'musl']) {
    const system = systems.find((one) => one.processor === processor && one.libc === libc);
    if (system === undefined) throw new Error(`no executable for ${processor} on ${libc}`);
    const bin = join(root, libc, 'bin');
    place(executableFile(work, system), join(bin, 'redlock-run'), 0o755);
    place(guardFile(work, system), join(bin, 'redlock-guard'), 0o755);
    link('redlock-run', join(bin, 'redlockctl'));
  }
  for (const file of cpp) {
    const name = libraryName(file);
    place(file, join(root, 'musl', 'lib', name), 0o755);
    link(`../../musl/lib/${name}`, join(root, 'usr', 'lib', name));
  }
  place(loader, join(root, 'lib', loaderName), 0o755);
  for (const name of ['redlock-run', 'redlockctl'])
    link(`../../musl/bin/${name}`, join(root, 'usr', 'bin', name));
  place(busybox, join(root, 'bin', 'busybox'), 0o755);
  for (const name of programs) link('busybox', join(root, 'bin', name));
  for (const name of ['dev', 'proc', 'tmp', 'etc']) makeFolder(join(root, name));
  chmodSync(join(root, 'tmp'), 0o1777);
  writeText(join(root, 'etc', 'passwd'), passwd);
  const documents = join(root, 'usr', 'share', 'doc', 'redlock-run');
  place(licencesFile(work), join(documents, 'LICENSES.txt'));
  const example = 'redlockrc.example';
  place(join(sharedFolder(work), example), join(root, 'etc', basename(example)));
}

const passwd = [
  ['root', 'x', 0, 0, 'root', '/', '/bin/sh'],
  ['nobody', 'x', 65534, 65534, 'nobody', '/', '/bin/false'],
]
  .map((fields) => `${fields.join(':')}\n`)
  .join('');

/**
 * Starts a registry on a free port of this machine.
 * @param {string} crane
 * @param {string} folder
 */
async function startRegistry(crane, folder) {
  makeFolder(folder);
  const address = `127.0.0.1:${await freePort()}`;
  const words = ['registry', 'serve', '--address', address, '--disk', folder];
  const child = spawn(crane, words, { stdio: 'ignore' });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`crane ${words.join(' ')}: ${child.exitCode}`);
    const isReady = await fetch(`http://${address}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { address, stop: () => child.kill() };
    await sleep(50);
  }
}

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}
