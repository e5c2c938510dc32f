// `redlockctl acl`: prints the smallest ACL rules under which redlock-run and redlockctl work with
// this prefix, for the oldest version among the masters. It changes nothing. The lines on stdout
// are Redis commands, ready for redis-cli once PASSWORD is replaced.

import { isFailed } from '../../redis/errors.ts';
import { type ProgramName, rulesOf } from '../../redis/rights.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine } from '../../text/foreign-text.ts';
import type { Call } from '../call.ts';
import { MasterQuery } from '../master-query.ts';
import { type ServerVersion, serverVersionOf } from './facts.ts';

const programs: readonly ProgramName[] = ['redlock-run', 'redlockctl'];
/** Assumed when no master reports its version. */
const defaultServer: ServerVersion = { name: 'Redis', version: '7.0' };

export async function acl({ args, settings, clock, print, tell }: Call): Promise<number> {
  if (/\s/.test(settings.prefix))
    throw new UsageError('--prefix: white space cannot stand in an ACL rule (take another prefix)');
  const query = await MasterQuery.of(settings, clock);
  const answers = await query.ask(async (server) => {
    const connection = await server.connected();
    return isFailed(connection)
      ? connection
      : { server: serverVersionOf(await connection.facts('server')) };
  });
  const known = answers.flatMap((answer) => (isFailed(answer) ? [] : (answer.server ?? [])));
  const [{ name, version } = defaultServer] = known.sort((a, b) =>
    a.version.localeCompare(b.version, 'en', { numeric: true }),
  );
  const hasConfig = args.has('--config-get');
  const users = programs.map((program) => ({
    user: program,
    rules: rulesOf(program, settings.prefix, version, hasConfig),
  }));
  if (hasConfig) tell('warning: +config|get also shows the passwords of the server to these users');
  if (args.has('--json')) {
    print(jsonLine({ version, isKnown: known.length > 0, users }));
    return exitCode.ok;
  }
  const unknown = known.length > 0 ? '' : 'no master told its version: ';
  tell(`${unknown}for ${name} ${version} (replace PASSWORD)`);
  for (const { user, rules } of users)
    print(`ACL SETUSER ${user} on >PASSWORD ${rules.join(' ')}\n`);
  return exitCode.ok;
}
