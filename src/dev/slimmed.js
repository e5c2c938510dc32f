// @ts-check
// What the bundles leave out of the packages in them, because it is loaded at every start and never used here. Only what is
// loaded changes, never what is done, but for one thing that Bun cannot do. The surprise: each change names the text that it replaces, and a build fails when a new
// version of a package does not have it any more.

import { join } from 'node:path';
import { root } from './program.js';

/**
 * The commands that src/redis and src/ctl send by name. ioredis knows 400 and makes eight functions of each; whatever is not
 * here can still be sent by `client.call('NAME', ...)`, and test/unit/dev finds calls that are in no list.
 */
export const commands = ['auth', 'config', 'eval', 'hello', 'info', 'role', 'select', 'subscribe', 'unsubscribe'];

/** @type {readonly { file: string, from: string, to: string }[]} */
const changes = [
  // Clusters are other things than independent masters.
  { file: 'ioredis/built/index.js', from: 'require("./cluster")', to: '{}' },
  { file: 'ioredis/built/Redis.js', from: 'require("./cluster")', to: '{}' },
  // TLS is loaded when a master wants it.
  ...['StandaloneConnector.js', 'SentinelConnector/index.js'].map((name) => ({
    file: `ioredis/built/connectors/${name}`,
    from: 'require("tls")',
    to: '{ get connect() { return require("tls").connect; } }',
  })),
  // ioredis is never asked to choose between a script and its digest.
  {
    file: 'ioredis/built/Script.js',
    from: 'require("crypto")',
    to: '{ get createHash() { return require("crypto").createHash; } }',
  },
  // DEBUG=* in somebody's environment would show passwords on stderr.
  {
    file: 'ioredis/built/utils/debug.js',
    from: 'require("debug")',
    to: '{ default: () => Object.assign(() => {}, { enabled: false }) }',
  },
  // Messages between processes, which are not used here, are what needs it.
  {
    file: 'execa/lib/ipc/ipc-input.js',
    from: "import {serialize} from 'node:v8';",
    to: "const serialize = () => { throw new TypeError('no messages to the command'); };",
  },
  // A table that nobody reads.
  {
    file: 'human-signals/build/src/main.js',
    from: 'signalsByNumber=getSignalsByNumber()',
    to: 'signalsByNumber=/* @__PURE__ */getSignalsByNumber()',
  },
  // What stands for a command that could not be started is given streams, which Bun has as properties that cannot be assigned.
  {
    file: 'execa/lib/return/early-error.js',
    from: 'new ChildProcess()',
    to: `Object.defineProperties(
      new ChildProcess(),
      Object.fromEntries(['stdin', 'stdout', 'stderr', 'stdio'].map((name) => [name, { writable: true, value: null }])),
    )`,
  },
  // To look at stdin is to open it, and to change how the command finds it.
  {
    file: 'execa/lib/utils/standard-stream.js',
    from: '[process.stdin, process.stdout, process.stderr]',
    to: `{
      get 0() { return process.stdin; },
      get 1() { return process.stdout; },
      get 2() { return process.stderr; },
      indexOf(stream) { return [this[0], this[1], this[2]].indexOf(stream); },
      includes(stream) { return this.indexOf(stream) !== -1; },
    }`,
  },
];

const commandTable = join('@ioredis', 'commands', 'built', 'commands.json');

/** The plug-in of the bundler that makes these changes. */
export function slimmed() {
  const inModules = (/** @type {string} */ file) => join(root, 'node_modules', file);
  return {
    name: 'slimmed',
    transform: {
      /**
       * @param {string} code
       * @param {string} id
       */
      handler(code, id) {
        if (id === inModules(commandTable)) return JSON.stringify(pick(JSON.parse(code)));
        const change = changes.find(({ file }) => id === inModules(file));
        if (change === undefined) return null;
        if (!code.includes(change.from))
          throw new Error(`${change.file} has no ${change.from} (see src/dev/slimmed.js)`);
        return { code: code.replace(change.from, change.to), map: null };
      },
    },
  };
}

/** @param {Record<string, unknown>} table */
function pick(table) {
  return Object.fromEntries(commands.map((name) => [name, table[name]]));
}
