// Failures out of what ioredis and Node throw: one printable line, bounded, whatever a server, a
// proxy or a certificate says.

import { describe, expect, test } from 'vitest';
import { failed, failedBy } from '../../../src/redis/errors.ts';
import { failureLine } from '../../../src/text/lines.ts';

const replyError = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' });
const withCode = (code: string, message: string) => Object.assign(new Error(message), { code });

describe('what went wrong', () => {
  test.each([
    [replyError('OOM command not allowed'), 'reply', 'OOM command not allowed'],
    [
      replyError('ERR x script: 0123456789abcdef0123456789abcdef01234567, on @user_script:1.'),
      'reply',
      'ERR x',
    ],
    [replyError(''), 'reply', 'an error without words'],
    [
      replyError('NOAUTH Authentication required.'),
      'denied',
      'NOAUTH Authentication required. (set passwordFile)',
    ],
    [
      replyError("ERR ACL failure in script: User job has no permissions to run the 'set' command"),
      'denied',
      "ERR ACL failure in script: User job has no permissions to run the 'set' command (give the " +
        'user the rules that redlockctl acl prints)',
    ],
    [
      withCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'),
      'connection',
      'connection refused',
    ],
    [new Error('Connection is closed.'), 'connection', 'connection closed'],
    [
      new Error("Stream isn't writeable and enableOfflineQueue options is false"),
      'connection',
      'connection closed',
    ],
    [
      new Error('Protocol error. Please report this.'),
      'connection',
      'does not speak the Redis protocol',
    ],
    ['just text', 'connection', 'just text'],
  ])('%s', (error, cause, message) => {
    const failure = failedBy(error);
    expect(failure).toMatchObject({ kind: 'failed', cause });
    expect(cause === 'denied' ? failureLine(failure) : failure.message).toBe(message);
  });
});

test.each([
  [
    replyError('READONLY You cannot write.'),
    'it has become a replica, or is read-only: list its primary',
  ],
  [replyError('OOM command not allowed'), 'raise its maxmemory, or free some'],
  [replyError('ERR of some other kind'), expect.stringContaining('log of the server')],
  [withCode('ECONNREFUSED', 'connect'), 'start the server, or correct its address'],
  [withCode('EHOSTUNREACH', 'connect'), expect.stringContaining('network')],
  [new Error('Connection is closed.'), expect.stringContaining('log of the server')],
])('what to do about %s', (error, advice) => {
  expect(failedBy(error).advice).toEqual(advice);
});

test('protected mode: what it is and what to do', () => {
  const long = 'DENIED Redis is running in protected mode because x. In this mode y. Do z.';
  expect(failedBy(replyError(long))).toMatchObject({
    cause: 'denied',
    message: 'DENIED: its protected mode refuses clients of other machines',
    advice: expect.stringMatching(/^set a password /),
  });
});

describe('words of others never act and are never long', () => {
  const title = '\u001b[31mevil\u001b]0;PWNED\u0007';
  test.each([
    ['a server', replyError(`ERR ${title}`), 'ERR \\u001b[31mevil\\u001b]0;PWNED\\u0007'],
    [
      'a certificate',
      withCode('ERR_TLS_CERT_ALTNAME_INVALID', `Host: a. is not cert's CN: ${title}`),
      "its certificate is not trusted: Host: a. is not cert's CN: \\u001b[31mevil\\u001b]0;PWNED" +
        '\\u0007',
    ],
    [
      'our own',
      failed('misconfigured', `is ${title}`).message,
      'is \\u001b[31mevil\\u001b]0;PWNED\\u0007',
    ],
  ])('%s', (_, error, message) => {
    expect(failedBy(error).message).toBe(message);
  });

  test.each(['x', ' ', '\u001b', '\n'])('megabytes of %j', (character) => {
    const { message } = failedBy(replyError(`ERR ${character.repeat(10_000_000)}`));
    expect(message).toMatch(/^[ -~]{3,303}$/);
  });
});
