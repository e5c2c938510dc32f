// Which commands of the scripts a user has no right to, where the server only says that a script
// contains one. Each is tried, with as many words as it takes until the server accepts their
// number. Each word is an unused key, so that no command has an effect.

import type { Failed } from '../lock/types.ts';
import type { Protocol } from './calls/protocol.ts';
import type { Connection } from './connection/connection.ts';
import { isFailed } from './errors.ts';
import { lockCommandsOf } from './rights.ts';

/**
 * KEYS: one that is not used. ARGV: commands. Returns those that the user has no right to. The most
 * words come first: a command that takes any number of words rejects them as nonsense, so only one
 * that takes a single word is executed.
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

/**
 * The commands that a lock needs under the protocol and this user has no right to, in lower
 * case. `key` must not be in use.
 */
export async function missingRights(
  connection: Connection,
  key: string,
  protocol: Protocol,
): Promise<string[] | Failed> {
  const commands = lockCommandsOf(protocol);
  const missing = await connection.eval({ script: missingScript, keys: [key], args: commands });
  return isFailed(missing) ? missing : (missing as string[]);
}
