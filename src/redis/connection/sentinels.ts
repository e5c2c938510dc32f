// Follows a primary by its sentinels: at each connection they are asked where it is. It is one
// vote, and no independent master: what a failover has not replicated is forgotten.
// *Note:* the connector of ioredis is not used: it asks one sentinel after the other, queues
// commands, and believes a sentinel that is alone. Here all are asked at once, and what a majority
// of those that are configured names counts: one that is cut off may name the old primary.
// See https://redis.io/docs/latest/develop/reference/sentinel-clients/

import type { Clock } from '../../lock/ports.ts';
import type { Failed } from '../../lock/types.ts';
import { quoted } from '../../text/foreign-text.ts';
import { failureLine } from '../../text/lines.ts';
import type { MasterAddress, SentinelHost } from '../address.ts';
import { failed, isFailed } from '../errors.ts';
import { inTime, maxReplyBytes, type OpenedClient, type Origin, openClient } from './client.ts';

/** As openClient, and for a primary behind sentinels a connection to it, wherever it is now. */
export async function openMaster(
  origin: Origin,
  clock: Clock,
  maxReplyBytes: number,
  isRenewing: boolean,
): Promise<OpenedClient | Failed> {
  if ('duplicate' in origin || origin.sentinels === undefined)
    return openClient(origin, clock, maxReplyBytes, isRenewing);
  const { sentinels, ...login } = origin;
  const position = await findPrimary(origin, sentinels.hosts, sentinels.primary, clock);
  if (isFailed(position)) return position;
  const opened = await openClient({ ...login, ...position }, clock, maxReplyBytes, isRenewing);
  const which = `its primary ${shown(position)}`;
  if (isFailed(opened)) return about(which, opened);
  const { client, ask } = opened;
  const asking = ask(() => client.call('ROLE')).catch(() => null);
  const role = await inTime(client, clock, asking);
  if (!Array.isArray(role) || role[0] !== 'slave') return opened;
  client.disconnect();
  const failure = failed('connection', `${which}: is a replica now: a failover is under way`);
  return { ...failure, advice: 'wait until it is over' };
}

/** The same failure, with the server that it is about. */
function about(which: string, { cause, message, advice }: Failed): Failed {
  return failed(cause, `${which}: ${message}`, advice);
}

/** Asks all sentinels at once; resolves when a majority of them name the same place. */
function findPrimary(
  origin: MasterAddress,
  hosts: readonly SentinelHost[],
  primary: string,
  clock: Clock,
): Promise<SentinelHost | Failed> {
  return new Promise((resolve) => {
    const named = new Map<string, { readonly position: SentinelHost; readonly count: number }>();
    const failures: Failed[] = [];
    for (const host of hosts) {
      void askOne(origin, host, primary, clock).then((answer) => {
        if (isFailed(answer)) {
          failures.push(about(shown(host), answer));
        } else {
          const count = (named.get(shown(answer))?.count ?? 0) + 1;
          named.set(shown(answer), { position: answer, count });
          if (count > hosts.length / 2) resolve(answer);
        }
        const answers = [...named.values()].sort((a, b) => b.count - a.count);
        const answeredCount = answers.reduce((sum, { count }) => sum + count, failures.length);
        if (answeredCount === hosts.length) resolve(noMajority(answers, failures, hosts.length));
      });
    }
  });
}

function noMajority(
  answers: readonly { readonly position: SentinelHost; readonly count: number }[],
  failures: readonly Failed[],
  hostCount: number,
): Failed {
  if (answers.length === 0) return noneOf(failures);
  const named = answers.map(({ position, count }) => `${shown(position)} by ${count}`).join(', ');
  const why = [
    `too few of ${hostCount} sentinels name one primary: ${named}`,
    ...messagesOf(failures),
  ];
  const advice = 'a majority of those that are configured has to; start the others';
  return failed('connection', why.join(', '), advice);
}

function messagesOf(failures: readonly Failed[]): string[] {
  return failures.map(({ message }) => message);
}

function noneOf(failures: readonly Failed[]): Failed {
  // Where any sentinel may still come to name one, it is worth trying again.
  const cause = failures.every((one) => one.cause === 'denied') ? 'denied' : 'connection';
  // Those that are denied say themselves what to do.
  const isDenied = cause === 'denied';
  const why = failures.map((one) => (isDenied ? failureLine(one) : one.message)).join(', ');
  const advice = isDenied ? undefined : 'start them, or correct the addresses';
  return failed(cause, `no sentinel names a primary: ${why}`, advice);
}

async function askOne(
  origin: MasterAddress,
  host: SentinelHost,
  primary: string,
  clock: Clock,
): Promise<SentinelHost | Failed> {
  const { tls, username, password, passwordSource } = origin;
  const sentinel = { name: shown(host), ...host, db: 0, ...(tls ? { tls } : {}) };
  const reply = await ask(sentinel, primary, clock);
  const wantsLogin = isFailed(reply) && reply.message.startsWith('NOAUTH');
  if (!wantsLogin || (password === undefined && !passwordSource)) return reply;
  const login = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(passwordSource ? { passwordSource } : {}),
  };
  return ask({ ...sentinel, ...login }, primary, clock);
}

async function ask(
  sentinel: MasterAddress,
  primary: string,
  clock: Clock,
): Promise<SentinelHost | Failed> {
  const opened = await openClient(sentinel, clock, maxReplyBytes.brief, false);
  if (isFailed(opened)) return opened;
  const { client } = opened;
  try {
    const args = ['get-master-addr-by-name', primary] as const;
    const asking = opened.ask(() => client.call('SENTINEL', ...args));
    return placeIn(await inTime(client, clock, asking), primary);
  } catch (error) {
    const failure = opened.whyFailed(error);
    return /unknown command/i.test(failure.message)
      ? failed('denied', 'is no sentinel', 'they listen on 26379, as a rule')
      : failure;
  } finally {
    if (client.status !== 'end') client.disconnect();
  }
}

function placeIn(reply: unknown, primary: string): SentinelHost | Failed {
  if (reply === null)
    return failed('denied', `watches no primary ${quoted(primary)}`, 'correct the name');
  const [host, port]: unknown[] = Array.isArray(reply) ? reply : [];
  const isPlace = /^[\p{L}\p{N}._:-]{1,255}$/u.test(String(host)) && /^\d{1,5}$/.test(String(port));
  return isPlace
    ? { host: String(host), port: Number(port) }
    : failed('reply', 'an unexpected reply to SENTINEL');
}

function shown({ host, port }: SentinelHost): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
