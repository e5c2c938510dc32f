// @ts-check
// The changes that the bundler makes to ioredis: fewer commands, no client of a cluster, TLS loaded
// when it is used, and no debug output. test/unit/scripts/ioredis-parts.test.ts fails where ioredis
// uses more than what is left.

import { join } from 'node:path';
import { root } from './program.js';

/**
 * The commands that src/redis and src/ctl send by name. ioredis knows 400 and makes eight functions
 * of each. Any other can be sent by `client.call('NAME', ...)`; test/unit/dev finds calls by name
 * of commands that are not in this list.
 */
export const commands = [
  'auth',
  'config',
  'eval',
  'hello',
  'info',
  'role',
  'select',
  'subscribe',
  'unsubscribe',
];

/** By its end: node_modules may be a link to a folder elsewhere. */
const table = '/@ioredis/commands/built/commands.json';

/**
 * A plug-in of the bundler that removes all other commands from the table of @ioredis/commands: a
 * whole start takes 75 to 78 ms instead of 85 to 88 (medians, on a local Redis, where an empty
 * Node program takes 21). Everything works without it as well.
 */
export function fewCommands() {
  return {
    name: 'few-commands',
    transform: (/** @type {string} */ code, /** @type {string} */ id) => {
      if (!id.replaceAll('\\', '/').endsWith(table)) return null;
      const all = JSON.parse(code);
      const few = Object.fromEntries(commands.map((name) => [name, all[name]]));
      return { code: JSON.stringify(few), map: { mappings: '' } };
    },
  };
}

/** By its end, as the table. */
const cluster = '/ioredis/built/cluster/index.js';

/**
 * A plug-in of the bundler that leaves out ioredis's client of a cluster, a fifth of its code: a
 * cluster is never a master. Everything works with it as well.
 */
export function noCluster() {
  return {
    name: 'no-cluster',
    load: (/** @type {string} */ id) =>
      id.replaceAll('\\', '/').endsWith(cluster) ? 'exports.default = class Cluster {};' : null,
  };
}

/** DEBUG=* in the environment would have ioredis write passwords to stderr. */
export const aliases = {
  debug: join(root, 'scripts', 'no-debug.js'),
  tls: join(root, 'scripts', 'late-tls.js'),
};
