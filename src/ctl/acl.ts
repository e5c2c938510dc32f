// `redlockctl acl`: the smallest rules under which redlock-run and redlockctl work with this prefix, for the oldest version among the
// masters. It prints and changes nothing. The surprise: the lines are Redis commands, so that they can be piped into redis-cli; the
// password in them is a word to be replaced.

import { UsageError } from '../cli/trouble.ts';
import { type ProgramName, rulesOf } from '../redis/rights.ts';
import { isFailed } from '../redis/trouble.ts';
import type { Call } from './call.ts';
import { exitCode } from './exit-code.ts';
import { Survey } from './survey.ts';

const programs: readonly ProgramName[] = ['redlock-run', 'redlockctl'];
/** What to take when no master tells. */
const usualVersion = '7.0';

export async function acl({ words, settings, clock, print, tell }: Call): Promise<number> {
  if (/\s/.test(settings.prefix))
    throw new UsageError('--prefix: white space cannot stand in an ACL rule (take another prefix)');
  const survey = await Survey.of(settings, clock);
  const versions = await survey.ask(async (inspector) => {
    const connection = await inspector.connected();
    return isFailed(connection) ? connection : ((await connection.facts('server')).redis_version ?? null);
  });
  const known = versions.filter((version): version is string => typeof version === 'string').sort(byVersion);
  const version = known[0] ?? usualVersion;
  const hasConfig = words.has('--config-get');
  const users = programs.map((program) => ({
    user: program,
    rules: rulesOf(program, settings.prefix, version, hasConfig),
  }));
  if (hasConfig) tell('warning: +config|get also shows the passwords of the server to these users');
  if (words.has('--json')) {
    print(`${JSON.stringify({ version, isKnown: known.length > 0, users })}\n`);
    return exitCode.ok;
  }
  tell(
    known.length > 0
      ? `for Redis ${version} (replace PASSWORD)`
      : `no master told its version: for Redis ${version} (replace PASSWORD)`,
  );
  for (const { user, rules } of users) print(`ACL SETUSER ${user} on >PASSWORD ${rules.join(' ')}\n`);
  return exitCode.ok;
}

/** Lowest first. */
export function byVersion(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
