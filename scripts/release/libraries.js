// @ts-check
// What the executable for musl needs in an image that is otherwise empty, for each processor: the C
// library and a shell from Debian, by apt-get; the C++ library from a wheel of PyPI, by pip,
// because Debian has none for musl. Exact versions with their checksums, in the user's cache.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Failure, run } from '../program.js';
import { cacheFolder, check } from './tools.js';
import { writeText } from './tree.js';

/** The packages that are downloaded, and their versions. */
const packages = {
  musl: '1.2.5-3.1~deb13u1',
  'busybox-static': '1:1.37.0-6+b9',
  kiwisolver: '1.5.1',
};

/**
 * For the SBOM: what the image has of these packages. The wheel is there for two libraries of GCC,
 * and says itself, in its own bill of materials, of which packages of Alpine Linux they are.
 */
export const imageComponents = [
  { type: 'deb/debian', name: 'musl', version: packages.musl, license: 'MIT' },
  {
    type: 'deb/debian',
    name: 'busybox-static',
    version: packages['busybox-static'],
    license: 'GPL-2.0-only',
  },
  ...['libstdc++', 'libgcc'].map((name) => ({
    type: 'apk/alpine',
    name,
    version: '14.2.0-r6',
    license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
    description: `from the wheel of kiwisolver ${packages.kiwisolver}`,
  })),
];

/** By processor: the words of the package managers, and the checksums of the files. */
const pinned = {
  amd64: {
    machine: 'x86_64',
    musl: 'fd4231e1c189c0ebe01182747f83817593fefa7f6b690c484410646288b60058',
    'busybox-static': '598a3fd92bdafc34cd81196b2952ad36e910e47a4ecf162f8ce5e8e262598e53',
    kiwisolver: 'd09037ca068d784ebc4aec290ef952ca27ac15dd9c0b5801a88c6e1096b83e6b',
  },
  arm64: {
    machine: 'aarch64',
    musl: '46cf1fcaa2d49d1573ef0ceabdb36e04a359a9a37d8e4304024f9018682e3f35',
    'busybox-static': 'c833be48abfa16bc19c4966ec93e289ff1ce5d2f1476cad3a57bd105378cd15c',
    kiwisolver: 'f942903fde7363d1d879057ec5de01310efda2597161784d752fa9953a01a71a',
  },
};

export const imageLicences = `
${'-'.repeat(80)}

The container image also contains, unchanged:
- musl (MIT; Debian's notice of it is below) and busybox (GPL-2.0) from Debian 13; their sources:
  apt-get source musl busybox, or https://snapshot.debian.org
- libstdc++ and libgcc of GCC (GPL-3.0 with the GCC Runtime Library Exception), as Alpine Linux
  builds them, from the wheel of kiwisolver; their sources: https://gcc.gnu.org
`;

/**
 * @typedef {object} Libraries
 * @property {string} loader the C library, which is also the loader
 * @property {string} loaderName its name in /lib
 * @property {string} notice the copyright and the licences of the C library
 * @property {string[]} cpp the C++ library and what it needs
 * @property {string} busybox
 */

/**
 * @param {keyof typeof pinned} processor
 * @returns {Promise<Libraries>}
 */
export async function musl(processor) {
  const { machine, ...sums } = pinned[processor];
  const folder = cacheFolder(`image-${processor}`);
  for (const name of /** @type {const} */ (['musl', 'busybox-static', 'kiwisolver'])) {
    const unpacked = join(folder, sums[name]);
    if (existsSync(unpacked)) continue;
    const file = await download(name, processor, folder);
    const sum = createHash('sha256').update(readFileSync(file)).digest('hex');
    if (sum !== sums[name])
      throw new Failure(76, `release: ${file}: SHA-256 is ${sum}, and not ${sums[name]}`);
    const words = file.endsWith('.deb')
      ? ['dpkg-deb', '-x', file, unpacked]
      : ['unzip', '-q', '-o', file, 'kiwisolver.libs/*', '-d', unpacked];
    await check(/** @type {string} */ (words[0]), words.slice(1));
  }
  const cpp = join(folder, sums.kiwisolver, 'kiwisolver.libs');
  return {
    loader: join(folder, sums.musl, 'usr', 'lib', `${machine}-linux-musl`, 'libc.so'),
    loaderName: `ld-musl-${machine}.so.1`,
    notice: join(folder, sums.musl, 'usr', 'share', 'doc', 'musl', 'copyright'),
    cpp: readdirSync(cpp).map((name) => join(cpp, name)),
    busybox: join(folder, sums['busybox-static'], 'usr', 'bin', 'busybox'),
  };
}

/**
 * Downloads a package, and returns its file.
 * @param {keyof typeof packages} name
 * @param {keyof typeof pinned} processor
 * @param {string} folder
 */
async function download(name, processor, folder) {
  const version = packages[name];
  if (name === 'kiwisolver') {
    const system = [`--platform=musllinux_1_2_${pinned[processor].machine}`];
    const python = ['--python-version=3.13', '--implementation=cp', '--only-binary=:all:'];
    const words = ['download', '--quiet', '--no-deps', '--disable-pip-version-check', ...python];
    await check('pip', [...words, ...system, '--dest', folder, `${name}==${version}`]);
  } else {
    const settings = aptSettings(processor, folder);
    await check('apt-get', [...settings, 'update']);
    const words = [...settings, 'download', `${name}=${version}`];
    const { code, output } = await run('apt-get', words, { notice: 'apt-get ...', cwd: folder });
    if (code !== 0)
      throw new Failure(
        69,
        `release: ${name} ${version}: Debian 13 has it no longer, or cannot be reached ` +
          `(a newer one: its version and checksums in scripts/release/libraries.js): ${output}`,
      );
  }
  const file = readdirSync(folder).find((one) =>
    new RegExp(`^${name}[_-].*\\.(deb|whl)$`).test(one),
  );
  if (file === undefined) throw new Failure(69, `release: ${name} ${version}: not downloaded`);
  return join(folder, file);
}

/**
 * An apt that knows Debian 13 and nothing of this system, but for the keys of Debian.
 * @param {string} processor
 * @param {string} folder
 */
function aptSettings(processor, folder) {
  const keys = '/usr/share/keyrings/debian-archive-keyring.gpg';
  if (!existsSync(keys))
    throw new Failure(69, `release: ${keys}: missing (install debian-archive-keyring)`);
  const list = join(folder, 'sources.list');
  writeText(list, `deb [signed-by=${keys}] http://deb.debian.org/debian trixie main\n`);
  for (const name of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(folder, name), { recursive: true });
  const settings = {
    'APT::Architecture': processor,
    'APT::Architectures': processor,
    'APT::Sandbox::User': '',
    'Debug::NoLocking': '1',
    'Dir::Cache': join(folder, 'cache'),
    'Dir::Etc::sourcelist': list,
    'Dir::Etc::sourceparts': '/dev/null',
    'Dir::State::lists': join(folder, 'lists'),
    'Dir::State::status': '/dev/null',
  };
  return Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
}

/** The name by which programs ask for a library of the wheel, which renames its files. */
export function libraryName(/** @type {string} */ file) {
  const name = basename(file);
  return name.startsWith('libstdc++') ? 'libstdc++.so.6' : name;
}
