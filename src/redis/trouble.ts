// What went wrong with a server, in one line for people and one word for the tally. The surprise: ioredis rejects connect()
// with "Connection is closed." whatever the matter is; the cause comes as an event, so callers pass that in.

import type { Failed, FailureCause } from '../lock/ports.ts';

const connectionTroubles: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOENT: 'no such socket',
  ENOTFOUND: 'host not found',
  EAI_AGAIN: 'host not found (the name server does not answer)',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no connection in time',
  EACCES: 'permission denied',
  EPIPE: 'connection closed',
};

/** How every version of ioredis ends what it says of bytes that are no Redis protocol: a web server's answer, a greeting of SSH. */
const foreignBytes = /\. Please report this\.$/;

const deniedReply = /^(NOAUTH|WRONGPASS|NOPERM)\b|invalid password|The user executing the script can't run/;

/** `error` is what ioredis threw or emitted. Never carries a password: servers do not echo them. */
export function failedBy(error: unknown): Failed {
  const { name = '', message = String(error), code } = error as { name?: string; message?: string; code?: string };
  if (name === 'ReplyError') return failed(deniedReply.test(message) ? 'denied' : 'reply', tidied(message));
  if (foreignBytes.test(message)) return failed('connection', 'does not speak the Redis protocol');
  const known = code === undefined ? undefined : connectionTroubles[code];
  return failed('connection', known ?? (/^Connection is closed/.test(message) ? 'connection closed' : tidied(message)));
}

export function failed(cause: FailureCause, message: string): Failed {
  return { kind: 'failed', cause, message };
}

export function isFailed(reply: unknown): reply is Failed {
  return typeof reply === 'object' && reply !== null && (reply as Partial<Failed>).kind === 'failed';
}

/** One line; without the tail that names the script by its hash. */
function tidied(message: string): string {
  return message
    .replace(/\s*script: [0-9a-f]{40}.*$/s, '')
    .replace(/\s+/g, ' ')
    .trim();
}
