// Failures of a server: a cause for the votes and one line for people.
// *Invariant:* failures of a server are made here and nowhere else, so that no text of a server, a
// certificate or a proxy reaches a terminal or a log unchanged.
// *Note:* ioredis rejects connect() with "Connection is closed." whatever the error is; the cause
// comes as an event.

import type { Failed, FailureCause } from '../lock/types.ts';
import { printable } from '../text/foreign-text.ts';
import { kindOfError } from './server-kinds.ts';

const network = 'check the network, and the firewalls between';
const serverLog = 'look at the log of the server, and at what is between';

/** By the code of the error: what happened, and what to do. */
const connectionErrors: Readonly<Record<string, readonly [message: string, advice: string]>> = {
  ECONNREFUSED: ['connection refused', 'start the server, or correct its address'],
  ECONNRESET: ['connection reset', serverLog],
  ENOENT: ['no such socket', 'start the server, or correct its address'],
  ENOTFOUND: ['host not found', 'correct the name'],
  EAI_AGAIN: ['host not found: the name server does not answer', 'check the resolver'],
  EHOSTUNREACH: ['host unreachable', network],
  ENETUNREACH: ['network unreachable', network],
  ETIMEDOUT: ['no connection in time', network],
  EACCES: ['permission denied', 'check the permissions of the socket'],
  EPIPE: ['connection closed', serverLog],
};
/** Those that show only that the connection has ended. */
const vague: readonly string[] = ['ECONNRESET', 'EPIPE'];

/**
 * The end of ioredis's message, in every version, about bytes that are no Redis protocol, such as
 * the answer of a web server or a greeting of SSH.
 */
const foreignBytes = /\. Please report this\.$/;

/** The messages of ioredis about a connection that is ending, without a reason. */
const endedConnection =
  /^(Connection is closed|Stream isn't writeable|Socket closed unexpectedly|write after end)/i;

/** The most that is kept of a server's error message. */
const maxChars = 300;

/** A right that is missing in a script has three forms: of Redis 6, of 7, and of 8 or Valkey 8. */
const deniedReply = new RegExp(
  '^(NOAUTH|WRONGPASS|NOPERM|ERR ACL failure in script)\\b|invalid password|' +
    "user executing the script can't run|" +
    // Instead of the first, to a client that sends much before it has logged in.
    'unauthenticated (multi)?bulk length',
);

/** Node's codes for a server certificate that fails verification. */
const untrusted =
  /^(CERT_|HOSTNAME_MISMATCH|INVALID_|ERR_TLS_CERT_|(DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_)/;
/** What to do about some of them; about the others, name the authority that has signed it. */
const certificateCures: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'renew it on the server; and see the clock of this machine',
  CERT_NOT_YET_VALID: 'see the clocks of the server and of this machine',
  ERR_TLS_CERT_ALTNAME_INVALID: 'set tls.servername to a name in it, or connect by that name',
};
/** Node's codes for a server that refuses our certificate, or demands one. */
const refusedTls = /^ERR_SSL_.*ALERT/;

/**
 * `error` is what ioredis threw or emitted; `cause` what it emitted first on this connection, which
 * is more than that it has ended. Never contains a password: servers do not echo them.
 */
export function failedBy(error: unknown, cause: unknown = null): Failed {
  if (cause !== null && endedConnection.test((error as Error).message)) return failedBy(cause);
  const {
    name = '',
    message = String(error),
    code,
  } = error as { name?: string; message?: string; code?: string };
  if (untrusted.test(code ?? '')) {
    const cure = certificateCures[code ?? ''] ?? 'set tls.caFile';
    return failed('denied', `its certificate is not trusted: ${tidied(message)}`, cure);
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return plainServer;
  if (refusedTls.test(code ?? '')) {
    const [, reason = message] = /:SSL routines:[^:]*:([^:]+):/.exec(message) ?? [];
    const cure = 'set tls.certFile and tls.keyFile';
    return failed('denied', `TLS is refused: ${tidied(reason)}`, cure);
  }
  if (name === 'ReplyError') {
    const kind = kindOfError(message);
    if (kind) return failed(kind.cause, kind.message ?? firstSentenceOf(message), kind.advice);
    return deniedReply.test(message)
      ? failed('denied', tidied(message), cureOf(message))
      : failed('reply', tidied(message), serverLog);
  }
  if (foreignBytes.test(message)) return foreignProtocol;
  const known = code === undefined ? undefined : connectionErrors[code];
  const isVague = vague.includes(code ?? '') || endedConnection.test(message);
  const [text, advice] = known ?? [isVague ? 'connection closed' : tidied(message), serverLog];
  return { ...failed('connection', text, advice), ...(isVague ? { isVague } : {}) };
}

/** An error reply as an error of ioredis. */
export function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** What to do about a master of --local that is not there. */
export const startsLater = 'the next run with --local starts it, or redlockctl local start';

/** Whether an error means that no server is there. */
export function isAbsent(error: unknown): boolean {
  return ['ECONNREFUSED', 'ENOENT'].includes((error as { code?: string } | null)?.code ?? '');
}

/** The server sends bytes that are not Redis's. */
export const foreignProtocol = failed(
  'connection',
  'does not speak the Redis protocol',
  'correct the port',
);

/** What to do about a connection without TLS that has ended before anything came. */
export const perhapsTls = 'write rediss:// if it speaks TLS; else look at the log of the server';

/** A server that waits for the rest of what it takes for a command, and answers plain text. */
export const plainServer = failed('denied', 'does not speak TLS', 'write redis://');

/** TLS was asked for, and nothing came of it in time. */
export const silentTls = failed(
  'connection',
  'no TLS connection in time',
  'write redis:// if it does not speak TLS; else check the network',
);

/** Whether the server refuses the user or the password. */
export function isRefusedLogin(error: unknown): boolean {
  return /^WRONGPASS|invalid password/.test((error as Error).message);
}

function cureOf(denial: string): string {
  if (/^NOAUTH|unauthenticated/.test(denial)) return 'set passwordFile';
  if (isRefusedLogin({ message: denial })) return 'check the user and the password';
  return 'give the user the rules that redlockctl acl prints';
}

/** `message` is converted to one printable line of bounded length. `advice`: what to do. */
export function failed(cause: FailureCause, message: string, advice?: string): Failed {
  const failure = { kind: 'failed', cause, message: printable(message, maxChars) } as const;
  return advice === undefined ? failure : { ...failure, advice };
}

export function isFailed(reply: unknown): reply is Failed {
  return (
    typeof reply === 'object' && reply !== null && (reply as Partial<Failed>).kind === 'failed'
  );
}

function firstSentenceOf(message: string): string {
  return tidied(message).split(/\.(?= |$)/, 1)[0] ?? message;
}

/** One line, without the end that names a script by its hash. */
function tidied(message: string): string {
  return (
    message
      .slice(0, 2 * maxChars)
      .replace(/^ERR Error running script .*?[ -](?=[A-Z]{3,} )/s, '')
      .replace(/\s*script: [0-9a-f]{40}.*$/s, '')
      .replace(/\s+/g, ' ')
      .trim() || 'an error without words'
  );
}
