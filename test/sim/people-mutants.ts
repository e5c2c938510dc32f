// Mutants of what people do to a lock: a freeze that is seen as free, thawed by another one's thaw,
// or forgotten; a request to stop that is ignored, reaches another holder, or counts too soon. And
// of the lines that refused runs leave for them.

import { alsoInScript, inScript, inSource, type Mutant, rarely, within } from './mutant.ts';

export const peopleMutants: readonly Mutant[] = [
  inScript(
    'freeze-seen-as-free',
    'a master grants a lock that is frozen there',
    within(10, 'frozen', 'barred'),
    'lock.lua',
    "local found = redis.pcall('GET', freeze_key(i))",
    'local found = false',
  ),
  inScript(
    'thaw-without-comparing',
    'a thaw removes whatever freeze is there',
    within(60, 'frozen', 'barred'),
    'operator.lua',
    'if current ~= value then return 0 end\n',
    '',
  ),
  alsoInScript(
    inScript(
      'freeze-forgotten',
      'a master forgets a freeze soon after it has confirmed it',
      within(20, 'frozen', 'barred'),
      'operator.lua',
      "redis.call('SET', KEYS[1], value)\n",
      "redis.call('SET', KEYS[1], value, 'PX', 50)\n",
    ),
    'operator.lua',
    "redis.call('SET', KEYS[1], value, 'PX', ms)",
    "redis.call('SET', KEYS[1], value, 'PX', 50)",
  ),
  inSource(
    'frozen-by-one',
    'one master that shows a freeze is enough to report it',
    rarely(20, 'frozen', 'barred'),
    'ctl/operations.ts',
    "if (count >= quorum) return 'frozen';",
    "if (count >= Math.min(1, quorum)) return 'frozen';",
  ),
  inSource(
    'stop-ignored',
    'a holder ignores the request to stop',
    within(20, 'stop-requests', 'heeded'),
    'lock/lease-keeper.ts',
    "if (kind === 'stop') return this.#onEvent({ kind: 'stop-asked', by });",
    "if (kind === 'stop') return;",
  ),
  {
    name: 'stop-reaches-another',
    breaks: 'the request reaches all holders, and none compares the token',
    edits: [
      {
        file: 'lock/waiter-id.ts',
        from: 'export function askedIdOf(token: string): string {\n',
        to: "export function askedIdOf(token: string): string {\n  token = '';\n",
      },
      {
        file: 'lock/people.ts',
        from: 'request === null || request.token !== this.#claim.token',
        to: 'request === null || this.#claim.token === null',
      },
    ],
    ...within(40, 'stop-requests', 'asked'),
  },
  inSource(
    'stop-on-one-word',
    'a holder stops on the word of one master',
    within(40, 'stop-requests', 'asked'),
    'lock/people.ts',
    "request.kind === 'stop' && masters.size < this.#quorum",
    "request.kind === 'stop' && masters.size < Math.min(1, this.#quorum)",
  ),
  inSource(
    'stopped-by-one',
    'one master without the value is enough to report a stop',
    within(40, 'stop-requests', 'toldStopped'),
    'ctl/operations.ts',
    "if (votes.every(({ gone }) => gone >= quorum)) return 'stopped';",
    "if (votes.every(({ gone }) => gone >= Math.min(1, quorum))) return 'stopped';",
  ),
  inSource(
    'asker-not-recorded',
    'the history does not say at whose request a run was stopped',
    within(20, 'stop-requests', 'recorded'),
    'run/outcome.ts',
    "cause.kind === 'stopped' || cause.kind === 'lost' ? cause.by : undefined",
    "cause.kind === 'lost' ? cause.by : undefined",
  ),
  inSource(
    'skip-never-left',
    'a refused run that does not wait leaves no trace',
    within(10, 'refused-at-once', 'skipsCounted'),
    'run/acquisition.ts',
    'return isWaiting ?',
    'return isWaiting || !isWaiting ?',
  ),
  inSource(
    'skip-for-each-attempt',
    'each attempt of a refused run is counted as a run',
    within(20, 'refused-at-once', 'skipsCounted'),
    'run/acquisition.ts',
    'const skip = { line, host, run, isRepeated };',
    'const skip = { line, host, run: run + clock.now(), isRepeated: false };',
  ),
  inSource(
    'skip-kept-when-granted',
    'a run that is granted the lock after all stays counted as refused',
    within(40, 'refused-at-once', 'skipsCounted'),
    'run/acquisition.ts',
    'isRepeated = true;',
    'isRepeated = false;',
  ),
  inScript(
    'skip-lengthens-the-lock',
    'the line of a refused run lengthens the key of the holder',
    within(10, 'refused-at-once', 'ownership'),
    'history.lua',
    "put_fact(key, field, known, table.concat(words, ' ') .. '\\n' .. holder)",
    "put_fact(key, field, known, table.concat(words, ' ') .. '\\n' .. holder)\n" +
      "  redis.call('PEXPIRE', key, redis.call('PTTL', key) + 1000)",
  ),
  inScript(
    'skip-joins-the-queue',
    'a refused run that does not wait stands in the queue',
    within(10, 'refused-at-once', 'litter', 'order', 'liveness'),
    'history.lua',
    "put_fact(key, field, known, table.concat(words, ' ') .. '\\n' .. holder)",
    "put_fact(key, field, known, table.concat(words, ' ') .. '\\n' .. holder)\n" +
      "  redis.call('ZADD', '{' .. key .. '}:queue', nowMs * 1000, run)\n" +
      "  redis.call('ZADD', '{' .. key .. '}:waiters', nowMs, run)",
  ),
  inSource(
    'release-lost-with-its-connection',
    'a release on a connection that had died unnoticed is not sent again',
    within(20, 'dead-connections', 'litter'),
    'redis/server.ts',
    "if (isFailed(reply) && reply.cause === 'connection' && wasSent) {",
    "if (isFailed(reply) && reply.cause === 'connection' && !wasSent) {",
  ),
  inSource(
    'release-cut-short-by-the-end',
    'a run that has ended does not wait for a release that is sent again',
    rarely(40, 'dead-connections', 'litter'),
    'redis/server.ts',
    'await sleepAwake(this.clock, endsAt - this.clock.now(), released.signal);',
    'void sleepAwake;',
  ),
];
