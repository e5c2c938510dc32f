// Doctor's test of a master: does everything that a run does on a master once, with the code of a
// run, on a lock of its own. So a missing right, a full memory or a read-only server is found
// early. *Note:* it writes for a second under a random name, even on masters in use, and leaves
// nothing.

import { randomBytes } from 'node:crypto';
import type { Clock } from '../lock/ports.ts';
import { alone, type Claim, type Failed } from '../lock/types.ts';
import { newClaim } from '../lock/value.ts';
import type { MasterAddress } from './address.ts';
import type { ServerSettings } from './connected-server.ts';
import { failed, isFailed } from './errors.ts';
import { beside } from './keys.ts';
import { lockCommandsOf } from './rights.ts';
import { type Server, serversAt } from './server.ts';

const ttlMs = 2_000;
const record = { host: 'none', pid: 0, user: 'redlockctl', since: '', label: 'doctor' };

/** Why a run could not work on this server, or null. */
export async function testMaster(
  address: MasterAddress,
  settings: ServerSettings,
  clock: Clock,
): Promise<Failed | null> {
  const tested = { ...settings, restartGraceMs: 0 };
  const [server] = serversAt([address], tested, clock, 'lock') as [Server];
  try {
    const refusal = await perform(server, settings);
    return refusal?.cause === 'denied' ? await explained(refusal, server, settings) : refusal;
  } finally {
    await server.close();
  }
}

async function perform(
  server: Server,
  { prefix, protocol }: ServerSettings,
): Promise<Failed | null> {
  const resource = unusedName();
  const [holder, stranger] = [testClaim(resource), testClaim(resource)];
  const id = randomBytes(8).toString('hex');
  const waiter = { ...testClaim(resource), waiter: { id, arrivalUs: 0 } };
  const sharer = { ...testClaim(resource), sharing: { kind: 'shared' } } as const;
  const { signal } = new AbortController();
  const granted = await server.acquire(holder, signal);
  const fence = granted.kind === 'granted' ? granted.fence : null;
  // The older protocol has no wake-ups and no shared locks.
  const hasForms = protocol === 'redlock';
  // Each with the kind of its reply; null: any.
  const steps: readonly (readonly [string | null, () => Promise<unknown>, boolean?])[] = [
    ['refused', () => server.acquire(waiter, signal)],
    [null, () => server.subscribe([resource], id, () => {}), hasForms],
    ['extended', () => server.extend(holder, fence, signal)],
    [null, () => server.look([resource])],
    ['released', () => server.release(holder, 0, null)],
    // The lock is free, and the waiter comes first.
    [null, () => server.acquire(stranger, signal)],
    [null, () => server.release(stranger, 0, null)],
    [null, () => server.release(waiter, 0, null)],
    ['granted', () => server.acquire(sharer, signal), hasForms],
    ['released', () => server.release(sharer, 0, null), hasForms],
  ];
  const taken = isFailed(granted) ? [] : steps.filter(([, , isTaken = true]) => isTaken);
  const replies: unknown[] = [granted];
  for (const [, step] of taken) replies.push(await step());
  // What remains of a claim is the counter.
  const connection = await server.connected();
  const key = beside(prefix + resource, 'fence');
  replies.push(isFailed(connection) ? connection : await connection.call('DEL', key));
  const failure = replies.find(isFailed);
  if (failure !== undefined) return failure;
  const kinds = taken.flatMap(([kind], at) =>
    kind === null ? [] : (replies[at + 1] as { kind: string }).kind,
  );
  const expected = taken.flatMap(([kind]) => kind ?? []);
  return kinds.join() === expected.join()
    ? null
    : failed('reply', `a lock was not kept: ${kinds.join(', ')}`);
}

/**
 * KEYS: one that is not used. ARGV: commands. Returns those that the user has no right to. Each is
 * tried with as many words as it takes until the server accepts their number; each word is the
 * unused key, so that no command has an effect. The most words come first: a command that takes any
 * number of words rejects them as nonsense, so only one that takes a single word is executed.
 */
const missingScript = `
local missing = {}
redis.pcall('SET', KEYS[1], 'no number', 'PX', 1000)
for _, command in ipairs(ARGV) do
  for count = 6, 0, -1 do
    local words = {}
    for i = 1, count do words[i] = KEYS[1] end
    local reply = redis.pcall(command, unpack(words))
    local problem = type(reply) == 'table' and reply.err or ''
    if not string.find(problem, 'umber of arg') then
      local isDenied = string.find(problem, "can't run this command")
        or string.find(problem, 'no permissions to run')
      if isDenied then missing[#missing + 1] = command end
      break
    end
  end
end
redis.pcall('DEL', KEYS[1])
redis.pcall('PEXPIRE', KEYS[1], 1000)
return missing`;

/** Names the commands that were denied inside a script, where the server does not. */
async function explained(
  refusal: Failed,
  server: Server,
  { prefix, protocol }: ServerSettings,
): Promise<Failed> {
  const connection = await server.connected();
  if (isFailed(connection)) return refusal;
  const keys = [beside(prefix + unusedName(), 'fence')];
  const args = lockCommandsOf(protocol);
  const missing = await connection.eval({ script: missingScript, keys, args });
  if (!Array.isArray(missing) || missing.length === 0) return refusal;
  return failed('denied', `no right to ${missing.join(', ').toUpperCase()}`);
}

/** A name that no lock has. */
function unusedName(): string {
  return `doctor-${randomBytes(8).toString('hex')}`;
}

function testClaim(resource: string): Claim {
  const token = randomBytes(20).toString('base64url');
  return newClaim({ ...alone, resources: [resource], ttlMs, isFenced: true }, token, record);
}
