// Which commands a user lacks the right to, where the server only says that there is one inside a script. Asked when a rehearsal has
// been denied, and never in a run. The surprise: each command is tried, with as many words as it takes until the server no longer
// complains of their number; each word is a key that nobody uses, and with that none of them does anything.

import type { Failed } from '../lock/types.ts';
import type { Connection } from './connection.ts';
import type { Protocol } from './protocol.ts';
import { commandsOf } from './rights.ts';
import { isFailed } from './trouble.ts';

/**
 * KEYS: one that nobody uses. ARGV: commands. Returns those that the user has no right to. Most words first: what takes any number
 * finds them to be nonsense, and only what takes one is carried out.
 */
const missingScript = `
local missing = {}
redis.pcall('SET', KEYS[1], 'no number', 'PX', 1000)
for _, command in ipairs(ARGV) do
  for count = 6, 0, -1 do
    local words = {}
    for i = 1, count do words[i] = KEYS[1] end
    local reply = redis.pcall(command, unpack(words))
    local trouble = type(reply) == 'table' and reply.err or ''
    if not string.find(trouble, 'umber of arg') then
      if string.find(trouble, "can't run this command") or string.find(trouble, 'no permissions to run') then
        missing[#missing + 1] = command
      end
      break
    end
  end
end
redis.pcall('DEL', KEYS[1])
redis.pcall('PEXPIRE', KEYS[1], 1000)
return missing`;

/** The commands that redlock-run's scripts use for the protocol and this user may not. `key` is one that nobody uses. Lower case. */
export async function missingRights(
  connection: Connection,
  key: string,
  protocol: Protocol,
): Promise<string[] | Failed> {
  const commands = commandsOf('redlock-run', protocol);
  const missing = await connection.eval(missingScript, [key], ...commands);
  return isFailed(missing) ? missing : (missing as string[]);
}
