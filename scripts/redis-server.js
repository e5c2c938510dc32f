// @ts-check
// Gets a redis-server or valkey-server for a checkout that has none. Debian's package is
// redis-tools, which contains the whole program (src/local/server-program.ts): redis-server would
// add a service on port 6379.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkoutModules } from './built.js';
import { ensureProgram } from './missing-program.js';

const packages = {
  'apt-get': ['redis-tools', 'valkey-tools'],
  apk: ['valkey', 'redis'],
  dnf: ['valkey', 'redis'],
  yum: ['redis'],
  pacman: ['valkey', 'redis'],
  zypper: ['valkey', 'redis'],
  brew: ['valkey', 'redis'],
};

/** Makes sure that a server program exists. Needs dist/. Throws a Failure with what to type. */
export async function ensureServer() {
  const { findServerProgram } = await import(
    pathToFileURL(join(checkoutModules, 'server-program.js')).href
  );
  await ensureProgram({
    name: 'redis-server',
    isFound: async () => (await findServerProgram(process.env)) !== null,
    packages,
    unpack: async (choices) => (await import('./unpacked-server.js')).unpackServer(choices),
    advice: 'install redis-server or valkey-server, or name masters with --master',
  });
}
