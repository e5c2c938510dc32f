// `redlockctl local start|stop|status`: starts and stops the masters of --local by hand. They keep
// nothing on disk: stopping them ends every lock on them and stops the commands under these locks,
// so `stop` asks first when locks are held.

import { renderTable } from '../cli/table.ts';
import { type LocalMaster, localMasters, startLocalMasters } from '../local/local-masters.ts';
import { localAddress } from '../redis/address.ts';
import { isFailed } from '../redis/errors.ts';
import { serversAt } from '../redis/server.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';
import { plural } from '../text/plural.ts';
import type { Call } from './call.ts';
import { MasterQuery } from './master-query.ts';

export async function local(call: Call): Promise<number> {
  const { localDirectory } = call.settings;
  switch (call.args.name) {
    case 'start':
      await startLocalMasters(localDirectory, process.env);
      return show(call);
    case 'stop':
      return stop(call);
    case 'status':
      return show(call);
    default:
      throw new UsageError(
        `local: ${quoted(call.args.name)}: unknown (write start, stop or status)`,
      );
  }
}

/** Exit 0 when all are running, 69 otherwise. */
async function show({ args, settings, print }: Call): Promise<number> {
  const masters = await localMasters(settings.localDirectory);
  const states = masters.map(({ socket, isListening }) => ({
    url: `unix://${encodeURI(socket)}`,
    state: isListening ? 'running' : 'stopped',
  }));
  const rows = states.map(({ url, state }) => [url, state]);
  print(
    args.has('--json') ? jsonLine({ masters: states }) : renderTable(['MASTER', 'STATE'], rows),
  );
  return masters.every(({ isListening }) => isListening) ? exitCode.ok : exitCode.unreachable;
}

async function stop(call: Call): Promise<number> {
  const { args, settings, clock, tell, confirm } = call;
  const running = await runningMasters(call);
  const addresses = running.map(({ socket }) => localAddress(socket));
  const servers = serversAt(addresses, { ...settings, restartGraceMs: 0 }, clock, 'look');
  const query = new MasterQuery(servers, clock, settings.masterTimeoutMs);
  const names = servers.length === 0 ? [] : await query.names('*');
  if (names.length > 0 && !args.has('--yes')) {
    const count = `${plural(names.length, 'lock is', 'locks are')} held on them`;
    if (confirm === null)
      throw new UsageError(
        `local: stop: ${count} (say --yes to end them too; redlockctl --local list shows them)`,
      );
    if (!(await confirm(`${count}. Stop the masters anyway?`))) return exitCode.busy;
  }
  for (const server of servers) {
    const connection = await server.connected();
    // SHUTDOWN is answered only when it is refused.
    const refusal = isFailed(connection)
      ? connection
      : await Promise.race([
          connection.call('SHUTDOWN', 'NOSAVE'),
          clock.sleep(settings.masterTimeoutMs),
        ]);
    if (isFailed(refusal) && refusal.cause !== 'connection')
      tell(`${server.name}: ${refusal.message}`);
  }
  const left = await runningMasters(call);
  for (const { socket } of left)
    tell(
      `local masters: ${socket}: still running: it does not answer ` +
        '(end it by the pid in its .pid file)',
    );
  if (args.has('--json')) await show(call);
  return left.length === 0 ? exitCode.ok : exitCode.unreachable;
}

async function runningMasters({ settings }: Call): Promise<LocalMaster[]> {
  const masters = await localMasters(settings.localDirectory);
  return masters.filter(({ isListening }) => isListening);
}
