// Failures of a server: a cause for the votes and one line for people.
// *Invariant:* failures are made here and nowhere else, so that no text of a server, a certificate
// or a proxy reaches a terminal or a log unchanged.
// *Note:* ioredis rejects connect() with "Connection is closed." whatever the error is; the cause
// comes as an event.

import type { Failed, FailureCause } from '../lock/types.ts';
import { printable } from '../text/printable.ts';

const network = 'check the network, and the firewalls between';
const serverLog = 'look at the log of the server, and at what is between';

/** By the code of the error: what it says, and what to do. */
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
/** Those that say only that the connection has ended. */
const vague: readonly string[] = ['ECONNRESET', 'EPIPE'];

/** What to do about error replies, by their beginning. */
const replyAdvice: readonly (readonly [beginning: RegExp, advice: string])[] = [
  [/^DENIED\b/, 'set a password on the server, or bind it to an address of its own'],
  [/^ERR max number of clients/, 'raise maxclients on the server, or close connections'],
  [/^READONLY\b/, 'list the primary, not a replica'],
  [/^LOADING\b/, 'wait until the server has loaded its data'],
  [/^BUSY\b/, 'wait for the script that runs on the server, or end it by SCRIPT KILL'],
  [/^MISCONF\b/, 'see in the log of the server why it cannot save'],
  [/^OOM\b/, 'raise maxmemory on the server, or free memory there'],
  [/^NOREPLICAS\b/, 'see to its replicas, or lower min-replicas-to-write'],
];

/**
 * The end of ioredis's message, in every version, about bytes that are no Redis protocol, such as
 * the answer of a web server or a greeting of SSH.
 */
const foreignBytes = /\. Please report this\.$/;

/** The messages of ioredis about a connection that is ending; they do not say why. */
const endedConnection =
  /^(Connection is closed|Stream isn't writeable|Socket closed unexpectedly|write after end)/i;

/** The most that is kept of a server's error message. */
const mostChars = 300;

const deniedReply =
  /^(NOAUTH|WRONGPASS|NOPERM)\b|invalid password|The user executing the script can't run/;
const wrongDatabase = /DB index is out of range/;

/** Node's codes for a server certificate that fails verification. */
const untrusted =
  /^(CERT_|HOSTNAME_MISMATCH|INVALID_|ERR_TLS_CERT_|(DEPTH_ZERO_)?SELF_SIGNED_|UNABLE_TO_)/;
/** Node's codes for a server that refuses our certificate, or demands one. */
const refusedTls = /^ERR_SSL_.*ALERT/;

/**
 * `error` is what ioredis threw or emitted; `cause` what it emitted first on this connection, which
 * says more than that it has ended. Never contains a password: servers do not echo them.
 */
export function failedBy(error: unknown, cause: unknown = null): Failed {
  if (cause !== null && endedConnection.test((error as Error).message)) return failedBy(cause);
  const {
    name = '',
    message = String(error),
    code,
  } = error as { name?: string; message?: string; code?: string };
  if (untrusted.test(code ?? '')) {
    return failed(
      'denied',
      `its certificate is not trusted: ${tidied(message)} (set tls.caFile, or tls.servername)`,
    );
  }
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
    return failed('denied', 'does not speak TLS (write redis://)');
  }
  if (refusedTls.test(code ?? '')) {
    return failed(
      'denied',
      `TLS is refused: ${tidied(message)} (set tls.certFile and tls.keyFile)`,
    );
  }
  if (name === 'ReplyError' && wrongDatabase.test(message)) {
    return failed('denied', `${tidied(message)} (name a database that the server has)`);
  }
  if (name === 'ReplyError' && deniedReply.test(message)) {
    return failed('denied', `${tidied(message)} (${cureOf(message)})`);
  }
  if (name === 'ReplyError') {
    const [, advice = serverLog] = replyAdvice.find(([begins]) => begins.test(message)) ?? [];
    return { ...failed('reply', tidied(message)), advice };
  }
  if (foreignBytes.test(message)) return foreignProtocol;
  const known = code === undefined ? undefined : connectionErrors[code];
  const isVague = vague.includes(code ?? '') || endedConnection.test(message);
  const [text, advice] = known ?? [isVague ? 'connection closed' : tidied(message), serverLog];
  return { ...failed('connection', text), advice, ...(isVague ? { isVague } : {}) };
}

/** An error reply as an error of ioredis. */
export function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

/** The server sends bytes that are not Redis's. */
export const foreignProtocol: Failed = {
  ...failed('connection', 'does not speak the Redis protocol'),
  advice: 'correct the port',
};

/** TLS was asked for, and nothing came of it in time. */
export const silentTls: Failed = {
  ...failed('connection', 'no TLS connection in time'),
  advice: 'write redis:// if it does not speak TLS; else check the network',
};

function cureOf(denial: string): string {
  if (denial.startsWith('NOAUTH')) return 'set passwordFile';
  if (/^WRONGPASS|invalid password/.test(denial)) return 'check the user and the password';
  return 'give the user the rules that redlockctl acl prints';
}

/** `message` is converted to one printable line of bounded length. */
export function failed(cause: FailureCause, message: string): Failed {
  return { kind: 'failed', cause, message: printable(message, mostChars) };
}

export function isFailed(reply: unknown): reply is Failed {
  return (
    typeof reply === 'object' && reply !== null && (reply as Partial<Failed>).kind === 'failed'
  );
}

/** One line, without the end that names a script by its hash; of protected mode, one sentence. */
function tidied(message: string): string {
  return (
    message
      .slice(0, 2 * mostChars)
      .replace(/\s*script: [0-9a-f]{40}.*$/s, '')
      .replace(/^(DENIED [^.]*)\..*$/s, '$1')
      .replace(/\s+/g, ' ')
      .trim() || 'an error without words'
  );
}
