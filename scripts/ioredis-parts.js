// @ts-check
// The changes that the bundler makes to ioredis: fewer commands, and no debug output.

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

/**
 * A plug-in of the bundler that removes all other commands from the table of @ioredis/commands: a
 * whole start takes 78 ms instead of 94 (the median of 30, on a local Redis, where an empty Node
 * program takes 21). Everything works without it as well.
 */
export function fewCommands() {
  const table = join(root, 'node_modules', '@ioredis', 'commands', 'built', 'commands.json');
  return {
    name: 'few-commands',
    transform: (/** @type {string} */ code, /** @type {string} */ id) => {
      if (id !== table) return null;
      const all = JSON.parse(code);
      const few = Object.fromEntries(commands.map((name) => [name, all[name]]));
      return { code: JSON.stringify(few), map: { mappings: '' } };
    },
  };
}

/** DEBUG=* in the environment would have ioredis write passwords to stderr. */
export const aliases = { debug: join(root, 'scripts', 'no-debug.js') };
