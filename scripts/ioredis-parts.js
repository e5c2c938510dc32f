// @ts-check
// The changes that the bundler makes to ioredis: fewer commands, no client of a cluster, TLS loaded
// when it is used, and no debug output. test/unit/scripts/ioredis-parts.test.ts fails where ioredis
// uses more than what is left.

/**
 * The commands that src/redis and src/ctl send by name. ioredis knows 400 and makes eight functions
 * of each. Any other can be sent by `client.call('NAME', ...)`.
 */
export const commands = 'auth config eval hello info role select subscribe unsubscribe'.split(' ');

/** By the end of their path: node_modules may be a link to a folder elsewhere. */
const table = '/@ioredis/commands/built/commands.json';
const cluster = '/ioredis/built/cluster/index.js';

/**
 * Modules in place of others. DEBUG=* in the environment would have ioredis write passwords to
 * stderr. Node loads its own TLS when a connection is made.
 * @type {Readonly<Record<string, string>>}
 */
const replaced = {
  debug: 'export default () => Object.assign(() => {}, { enabled: false });',
  tls: `import { createRequire } from 'node:module';
    const native = createRequire(import.meta.url);
    export const connect = (...words) => native('node:tls').connect(...words);`,
};

/**
 * A plug-in of the bundler. Without all commands and the client of a cluster, which is a fifth of
 * the code and never a master, a whole start takes 75 to 78 ms instead of 85 to 88 (medians, on a
 * local Redis, where an empty Node program takes 21). Everything works with them as well.
 */
export function ioredisParts() {
  const pathOf = (/** @type {string} */ id) => id.replaceAll('\\', '/');
  return {
    name: 'ioredis-parts',
    resolveId: (/** @type {string} */ id) => (id in replaced ? `\0${id}` : null),
    load: (/** @type {string} */ id) =>
      pathOf(id).endsWith(cluster)
        ? 'exports.default = class Cluster {};'
        : (replaced[id.replace('\0', '')] ?? null),
    transform: (/** @type {string} */ code, /** @type {string} */ id) => {
      if (!pathOf(id).endsWith(table)) return null;
      const all = JSON.parse(code);
      const few = Object.fromEntries(commands.map((name) => [name, all[name]]));
      return { code: JSON.stringify(few), map: { mappings: '' } };
    },
  };
}
