// Follows a primary by its sentinels: at each connection they are asked where it is. It is one
// vote, and no independent master: what a failover has not replicated is forgotten.
// *Note:* the connector of ioredis is not used: it asks one sentinel after the other, queues
// commands, and believes a sentinel that is alone. Here all are asked at once, and what a majority
// of those that are configured names counts: one that is cut off may name the old primary.
// See https://redis.io/docs/latest/develop/reference/sentinel-clients/

import type { Clock } from '../../lock/ports.ts';
import { askAll, failuresIn } from '../../lock/round.ts';
import type { Failed, MasterFailure } from '../../lock/types.ts';
import { quoted } from '../../text/foreign-text.ts';
import { failureLine } from '../../text/lines.ts';
import type { MasterAddress, SentinelHost, Sentinels } from '../address.ts';
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
  const position = await findPrimary(origin, sentinels, clock);
  if (isFailed(position)) return position;
  const opened = await openClient({ ...login, ...position }, clock, maxReplyBytes, isRenewing);
  const which = `its primary ${shown(position)}`;
  if (isFailed(opened)) return failed(opened.cause, `${which}: ${opened.message}`, opened.advice);
  const { client, ask } = opened;
  const asking = ask(() => client.call('ROLE')).catch(() => null);
  const role = await inTime(client, clock, asking);
  if (!Array.isArray(role) || role[0] !== 'slave') return opened;
  client.disconnect();
  const why = `${which}: is a replica now: a failover is under way`;
  return failed('connection', why, 'wait until it is over');
}

/**
 * A backstop: longer than a sentinel may take to connect, to log us in and to answer, twice, with a
 * passwordCommand that runs for ten seconds.
 */
const maxMs = 30_000;

/** The place that a majority of the sentinels names. */
async function findPrimary(
  origin: MasterAddress,
  { hosts, primary }: Sentinels,
  clock: Clock,
): Promise<SentinelHost | Failed> {
  const { sentinels: _, ...login } = origin;
  const masters = hosts.map((host) => ({ ...login, ...host, name: shown(host), db: 0 }));
  const ask = (sentinel: MasterAddress) => askSentinel(sentinel, primary, clock);
  const placesIn = (votes: Votes) => {
    const counts = new Map<string, number>();
    for (const vote of votes.values())
      if (!isFailed(vote)) counts.set(shown(vote), (counts.get(shown(vote)) ?? 0) + 1);
    return [...counts].sort(([, one], [, other]) => other - one);
  };
  const majorityIn = (votes: Votes) =>
    placesIn(votes).find(([, count]) => count > hosts.length / 2);
  const request = { masters, ask, isCertain: (votes: Votes) => majorityIn(votes) !== undefined };
  const late = failed('timeout', 'no answer in time');
  const { votes } = await askAll<MasterAddress, SentinelHost>(request, clock, maxMs, late);
  const [majority] = majorityIn(votes) ?? [];
  const found = [...votes.values()].find((one) => !isFailed(one) && shown(one) === majority);
  return found ?? noMajority(placesIn(votes), failuresIn(votes), hosts.length);
}

type Votes = ReadonlyMap<MasterAddress, SentinelHost | Failed>;

function noMajority(
  places: readonly (readonly [string, number])[],
  failures: readonly MasterFailure[],
  hostCount: number,
): Failed {
  // Where any sentinel may still come to name one, it is worth trying again.
  const areDenied = failures.every(({ failed: { cause } }) => cause === 'denied');
  const isDenied = places.length === 0 && areDenied;
  const why = failures.map(
    ({ master, failed: one }) => `${master}: ${isDenied ? failureLine(one) : one.message}`,
  );
  if (isDenied) return failed('denied', `no sentinel names a primary: ${why.join(', ')}`);
  if (places.length === 0) {
    const advice = 'start them, or correct the addresses';
    return failed('connection', `no sentinel names a primary: ${why.join(', ')}`, advice);
  }
  const all = [...places.map(([place, count]) => `${place} by ${count}`), ...why].join(', ');
  const advice = 'a majority of those that are configured has to; start the others';
  return failed('connection', `too few of ${hostCount} sentinels name one primary: ${all}`, advice);
}

/** Logs in only where the sentinel demands it: most have no password. */
async function askSentinel(
  sentinel: MasterAddress,
  primary: string,
  clock: Clock,
): Promise<SentinelHost | Failed> {
  const { username, password, passwordSource, ...stranger } = sentinel;
  const reply = await ask(stranger, primary, clock);
  const wantsLogin = isFailed(reply) && reply.message.startsWith('NOAUTH');
  const hasLogin = password !== undefined || passwordSource !== undefined;
  return wantsLogin && hasLogin ? ask(sentinel, primary, clock) : reply;
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
  const isHost = /^[\p{L}\p{N}._:-]{1,255}$/u.test(String(host));
  const isPort = /^\d{1,5}$/.test(String(port)) && Number(port) <= 65_535;
  return isHost && isPort
    ? { host: String(host), port: Number(port) }
    : failed('reply', 'an unexpected reply to SENTINEL');
}

function shown({ host, port }: SentinelHost): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
