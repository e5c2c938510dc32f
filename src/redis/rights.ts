// The rights that the programs need on a master, as rules of Redis's access control lists. They are
// read from the scripts, so that a new command in a script brings its right with it. Versions
// differ: 6.0 has no rights on channels, and from 7.0 on a user has none unless given.

import { scriptNames, scriptOf } from './calls/scripts.ts';
import type { Protocol } from './keys.ts';

/** Sent beside the scripts: to log in, to identify the master, to subscribe to wake-ups. */
const plainCommands = ['eval', 'select', 'info', 'role', 'subscribe'];
/** Asked for too, and not needed: it also shows the passwords of the server. */
const configRight = 'config|get';
/** What redlockctl sends beside those. */
const inspectingCommands = ['scan', 'time', 'zrange'];
const inspectingScripts = ['history', 'act', 'exchange', 'freeze', 'thaw'];
/** Asked for too: without these rights a master that was emptied, or another set of masters,
 * is not known. */
const markScripts = ['mark', 'record_set'];

/** `redlock-run` or `redlockctl`. */
export type ProgramName = 'redlock-run' | 'redlockctl';

/** The commands of both protocols, in lower case, sorted. */
function commandsOf(program: ProgramName): string[] {
  const isRun = program === 'redlock-run';
  const names = scriptNames.filter((name) => !(isRun && inspectingScripts.includes(name)));
  const used = names.flatMap((name) => commandsIn(scriptOf(name).text));
  const others = isRun ? plainCommands : [...plainCommands, ...inspectingCommands];
  return [...new Set([...others, ...used])].sort();
}

/** What a lock of redlock-run needs, without its history: it may be forbidden. As `commandsOf`. */
export function lockCommandsOf(protocol: Protocol): string[] {
  const others = [...inspectingScripts, ...markScripts];
  const names = scriptNames.filter(
    (name) => name.startsWith('setnx_') === (protocol !== 'redlock') && !others.includes(name),
  );
  const used = names.flatMap((name) => commandsIn(scriptOf(name, true, false).text));
  return [...new Set([...plainCommands, ...used])].sort();
}

/**
 * The arguments of ACL SETUSER after the user's name, but for the password. `version` as in INFO
 * server: `7.0.15`.
 */
export function rulesOf(
  program: ProgramName,
  prefix: string,
  version: string,
  hasConfig: boolean,
): string[] {
  const literal = prefix.replace(/[\\*?[\]]/g, '\\$&');
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const hasChannels = major > 6 || (major === 6 && minor >= 2);
  return [
    'resetkeys',
    `~${literal}*`,
    ...(literal === '' ? [] : [`~{${literal}*}:*`]),
    ...(hasChannels ? ['resetchannels', `&{${literal}*}:wake:*`] : []),
    '-@all',
    ...[...commandsOf(program), ...(hasConfig ? [configRight] : [])].map(
      (command) => `+${command}`,
    ),
  ];
}

function commandsIn(script: string): string[] {
  // Also by a function of the scripts for a call that may fail.
  return [...script.matchAll(/\w\('([A-Z]+)'/g)].map(([, command = '']) => command.toLowerCase());
}
