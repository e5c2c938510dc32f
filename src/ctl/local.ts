// `redlockctl local start|stop|status`: starts and stops the masters of --local by hand. They keep
// nothing on disk: stopping them ends every lock on them and stops the commands under these locks,
// so `stop` asks first when locks are held.

import { renderTable } from '../cli/table.ts';
import { type LocalMaster, localMasters, startLocalMasters } from '../local/local-masters.ts';
import type { Clock } from '../lock/ports.ts';
import { localAddress } from '../redis/address.ts';
import { isFailed } from '../redis/errors.ts';
import { ServerRegistry } from '../redis/identity.ts';
import { Server } from '../redis/server.ts';
import { exitCode, UsageError } from '../text/errors.ts';
import { jsonLine, quoted } from '../text/foreign-text.ts';
import { plural } from '../text/plural.ts';
import type { Call } from './call.ts';
import { defaultLimits, MasterQuery } from './master-query.ts';
import type { CtlSettings } from './settings.ts';

export async function local(call: Call): Promise<number> {
  const [action = ''] = call.args.operands;
  switch (action) {
    case 'start':
      await startLocalMasters({
        directory: call.settings.localDirectory,
        environment: process.env,
      });
      return show(call);
    case 'stop':
      return stop(call);
    case 'status':
      return show(call);
    default:
      throw new UsageError(`local: ${quoted(action)}: unknown (write start, stop or status)`);
  }
}

/** Exit 0 when all are running, 69 otherwise. */
async function show({ args, settings, print }: Call): Promise<number> {
  const masters = await localMasters(settings.localDirectory);
  const rows = masters.map(({ socket, isListening }) => [
    `unix://${encodeURI(socket)}`,
    isListening ? 'running' : 'stopped',
  ]);
  const states = rows.map(([url, state]) => ({ url, state }));
  print(
    args.has('--json') ? jsonLine({ masters: states }) : renderTable(['MASTER', 'STATE'], rows),
  );
  return masters.every(({ isListening }) => isListening) ? exitCode.ok : exitCode.unreachable;
}

async function stop(call: Call): Promise<number> {
  const { args, settings, clock, tell, ask } = call;
  const running = (await localMasters(settings.localDirectory)).filter(
    ({ isListening }) => isListening,
  );
  const servers = running.map((master) => serverOf(master, settings, clock));
  const query = new MasterQuery(servers, clock, defaultLimits(settings.masterTimeoutMs));
  const names = servers.length === 0 ? [] : await query.names('*');
  if (names.length > 0 && !args.has('--yes')) {
    const count = `${plural(names.length, 'lock is', 'locks are')} held on them`;
    if (ask === null)
      throw new UsageError(
        `local: stop: ${count} (say --yes to end them too; redlockctl --local list shows them)`,
      );
    if (!/^y(es)?$/i.test((await ask(`${count}. Stop the masters all the same? [y/N] `)).trim()))
      return exitCode.busy;
  }
  for (const server of servers) {
    const connection = await server.connected();
    // SHUTDOWN is answered only when it is refused.
    const refusal = isFailed(connection)
      ? connection
      : await Promise.race([
          connection.call('SHUTDOWN', 'NOSAVE'),
          query.clock.sleep(settings.masterTimeoutMs),
        ]);
    if (isFailed(refusal) && refusal.cause !== 'connection')
      tell(`${server.name}: ${refusal.message}`);
  }
  const left = (await localMasters(settings.localDirectory)).filter(
    ({ isListening }) => isListening,
  );
  for (const { socket } of left)
    tell(
      `local masters: ${socket}: still running: it does not answer ` +
        '(end it by the pid in its .pid file)',
    );
  if (args.has('--json')) await show({ ...call, tell: () => {} });
  return left.length === 0 ? exitCode.ok : exitCode.unreachable;
}

function serverOf({ socket }: LocalMaster, settings: CtlSettings, clock: Clock): Server {
  return new Server(
    localAddress(socket),
    { ...settings, restartGraceMs: 0 },
    new ServerRegistry(),
    clock,
    'look',
  );
}
