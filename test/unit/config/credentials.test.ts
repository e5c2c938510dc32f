// Users, passwords and certificates: their sources for each master, and that none is ever shown.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${VAR} is what stands in the file

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { pemFile } from '../../servers/pem.ts';
import { createScratch, failure, type Scene, settle } from './scratch.ts';

const local = ['--local'];
const pem = (name: string) => readFileSync(pemFile(name), 'utf8');
const files = {
  'work/pw': 'from-file\n',
  'work/crlf': 'two\n\r\n',
  'work/empty': '\n',
  'work/ca': pem('ca.pem'),
  'work/cert': pem('client.pem'),
  'work/key': pem('client.key'),
  'work/other': pem('server.key'),
  'work/garbage': '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n',
};
const first = async (scene: Scene) => (await settle({ ...scene, files })).masters[0];

describe('logins', () => {
  test.each<[string, Scene, object]>([
    ['url', { file: 'masters: ["redis://u:p@a"]' }, { username: 'u', password: 'p' }],
    [
      'beside the url',
      { file: 'masters: [{url: a, username: u, password: p}]' },
      { username: 'u', password: 'p' },
    ],
    ['a file', { file: 'masters: [{url: a, passwordFile: pw}]' }, { password: 'from-file' }],
    [
      'a file, one newline off',
      { file: 'masters: [{url: a, passwordFile: crlf}]' },
      { password: 'two\n' },
    ],
    [
      'a variable',
      { file: 'masters: ["redis://:${P}@a"]', environment: { P: 'x' } },
      { password: 'x' },
    ],
    [
      'top level',
      { file: 'masters: [a]\nusername: u\npassword: p' },
      { username: 'u', password: 'p' },
    ],
    ['top level file', { file: 'masters: [a]\npasswordFile: pw' }, { password: 'from-file' }],
    [
      'top level for --master',
      { file: 'password: p', flags: ['--master', 'redis://u@a'] },
      { username: 'u', password: 'p' },
    ],
    [
      'own before top level',
      { file: 'masters: ["redis://u:p@a"]\nusername: x\npassword: x' },
      { username: 'u', password: 'p' },
    ],
    [
      'environment before file',
      {
        file: 'masters: [a]\npassword: x',
        environment: { REDLOCK_PASSWORD: 'p', REDLOCK_USERNAME: 'u' },
      },
      { username: 'u', password: 'p' },
    ],
    [
      'environment file before file',
      { file: 'masters: [a]\npassword: x', environment: { REDLOCK_PASSWORD_FILE: 'pw' } },
      { password: 'from-file' },
    ],
    ['tls by itself', { file: 'masters: ["rediss://a"]' }, { tls: {} }],
    [
      'tls at the top',
      { file: 'masters: ["rediss://a"]\ntls: {caFile: ca, certFile: cert, keyFile: key}' },
      { tls: { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') } },
    ],
    [
      'tls of one',
      {
        file:
          'masters: [{url: "rediss://a", tls: {servername: n}}]\n' +
          'tls: {caFile: ca, servername: x}',
      },
      { tls: { ca: pem('ca.pem'), servername: 'n' } },
    ],
  ])('%s', async (_, scene, expected) => expect(await first(scene)).toMatchObject(expected));
});

describe('where logins come from', () => {
  it('are absent unless given', async () => {
    const address = { name: 'redis://a:6379', host: 'a', port: 6379, db: 0 };
    expect(await first({ file: 'masters: [a]' })).toEqual(address);
    expect(await first({ file: 'masters: [a]\ntls: {caFile: ca}' })).toEqual(address);
  });

  it('have files relative to the configuration file, or to the working directory', async () => {
    const root = createScratch({
      '.redlockrc': 'masters: [a]\npasswordFile: pw',
      pw: 'beside-rc',
      'work/deep/pw': 'beside-me',
    });
    const flags = ['--config', '../../.redlockrc'];
    expect((await settle({ flags }, root, 'work/deep')).masters[0]?.password).toBe('beside-rc');
    const environment = { REDLOCK_PASSWORD_FILE: 'pw' };
    const { masters } = await settle({ flags, environment }, root, 'work/deep');
    expect(masters[0]?.password).toBe('beside-me');
  });

  it('come from a command only when a connection needs them', async () => {
    const marker = join(createScratch(), 'ran');
    const environment = {
      REDLOCK_MASTERS: 'redis://u@a,redis://:p@b',
      REDLOCK_PASSWORD_COMMAND: `touch ${marker}; echo secret`,
    };
    const { masters } = await settle({ environment });
    expect(masters.map(({ password }) => password)).toEqual([undefined, 'p']);
    expect([existsSync(marker), masters[1]?.passwordSource]).toEqual([false, undefined]);
    expect(await masters[0]?.passwordSource?.password()).toBe('secret');
    expect(existsSync(marker)).toBe(true);
  });

  test.each<[string, string, string]>([
    ['that fails', 'echo s3cr3t; echo s3cr3t >&2; exit 3', 'exited 3 (run it by hand)'],
    ['that prints nothing', 'true', 'printed nothing (let it print the password)'],
    ['with two lines', 'echo a; echo b', 'printed more than one line (let it print'],
    ['that is endless', 'yes s3cr3t', 'prints too much (let it print the password alone)'],
  ])('a command %s', async (_, command, why) => {
    const environment = { REDLOCK_MASTERS: 'a', REDLOCK_PASSWORD_COMMAND: command };
    const { masters } = await settle({ environment });
    const answer = await masters[0]?.passwordSource?.password();
    expect(answer).toMatchObject({ kind: 'failed', cause: 'denied' });
    expect(JSON.stringify(answer)).toContain(`REDLOCK_PASSWORD_COMMAND: ${why}`);
    expect(JSON.stringify(answer)).not.toContain('s3cr3t');
  });

  it('of TLS come from the environment for masters without a tls of their own', async () => {
    const tls = (environment: Record<string, string>, text: string) =>
      settle({ file: text, environment, files }).then(({ masters }) =>
        masters.map((master) => master.tls),
      );
    const variables = { REDLOCK_CA_FILE: 'ca', REDLOCK_SERVERNAME: 'n' };
    const [ca, cert, key] = ['ca.pem', 'client.pem', 'client.key'].map(pem);
    expect(await tls(variables, 'masters: ["rediss://a", "redis://b"]')).toEqual([
      { ca, servername: 'n' },
      undefined,
    ]);
    const own = 'masters: ["rediss://a", {url: "rediss://b", tls: {servername: o}}]';
    expect(await tls(variables, `${own}\ntls: {certFile: cert, keyFile: key}`)).toEqual([
      { ca, cert, key, servername: 'n' },
      { cert, key, servername: 'o' },
    ]);
  });

  it('are not read for local masters', async () => {
    expect((await settle({ flags: local, file: 'passwordFile: missing' })).local).toBe(true);
  });
});

/** Users and passwords that will not do, each with its message. */
const refusedPasswords: [string, Scene, string][] = [
  [
    'a missing file',
    { file: 'masters: [{url: a, passwordFile: no}]' },
    'rc:1: masters[0].passwordFile: "no": no such file',
  ],
  [
    'a missing file at the top',
    { file: 'masters: [a]\npasswordFile: no' },
    'rc:2: passwordFile: "no": no such file',
  ],
  [
    'a missing file of the environment',
    { environment: { REDLOCK_MASTERS: 'a', REDLOCK_PASSWORD_FILE: 'no' } },
    'REDLOCK_PASSWORD_FILE: "no": no such file',
  ],
  [
    'a directory',
    { file: 'masters: [a]\npasswordFile: deep' },
    'passwordFile: "deep": is a directory',
  ],
  ['an empty file', { file: 'masters: [a]\npasswordFile: empty' }, 'passwordFile: "empty": empty'],
  ['an empty password', { file: "masters: [a]\npassword: ''" }, 'rc:2: password: empty'],
  ['an empty user', { file: "masters: [a]\nusername: ''" }, 'rc:2: username: empty'],
  [
    'two passwords',
    { file: 'masters: [a]\npassword: p\npasswordFile: pw' },
    'rc:2: password: given as passwordFile too',
  ],
  [
    'two passwords in one master',
    { file: 'masters: [{url: a, password: p, passwordFile: pw}]' },
    'masters[0].password: given as',
  ],
  [
    'two passwords, url',
    { file: 'masters: [{url: "redis://:p@a", password: p}]' },
    'masters[0].password: given in the url too',
  ],
  [
    'two users, url',
    { file: 'masters: [{url: "redis://u@a", username: u}]' },
    'masters[0].username: given in the url too',
  ],
  [
    'a file and a command',
    { file: 'masters: [a]\npasswordFile: pw\npasswordCommand: echo x' },
    'rc:2: passwordFile: given as passwordCommand too',
  ],
  [
    'a command beside the password of the url',
    { file: 'masters: [{url: "redis://:p@a", passwordCommand: echo x}]' },
    'masters[0].password: given in the url too',
  ],
  [
    'a time that is none',
    { file: 'masters: [a]\npasswordCommand: echo x\npasswordTtl: soon' },
    'rc:3: passwordTtl: ',
  ],
];

/** The same of certificates and keys. */
const refusedCertificates: [string, Scene, string][] = [
  [
    'tls without TLS',
    { file: 'masters: [{url: a, tls: {caFile: ca}}]' },
    'masters[0].tls: redis://a:6379: not a TLS address',
  ],
  [
    'a missing CA',
    { file: 'masters: ["rediss://a"]\ntls: {caFile: no}' },
    'rc:2: tls.caFile: "no": no such file',
  ],
  ...(['empty', 'other', 'garbage'] as const).map((name): [string, Scene, string] => [
    `a CA that is none: ${name}`,
    { file: `masters: ["rediss://a"]\ntls: {caFile: ${name}}` },
    `rc:2: tls.caFile: "${name}": holds no certificate`,
  ]),
  ...(
    [
      ['ca', 'garbage', 'tls.keyFile: "garbage": holds no private key'],
      ['empty', 'key', 'tls.certFile: "empty": holds no certificate'],
      ['ca', 'empty', 'tls.keyFile: "empty": holds no private key'],
      ['other', 'key', 'tls.certFile: "other": holds no certificate'],
      ['cert', 'other', 'tls.keyFile: "other": does not belong to certFile'],
    ] as const
  ).map(([cert, key, message]): [string, Scene, string] => [
    `${key} for ${cert}`,
    { file: `masters: ["rediss://a"]\ntls: {certFile: ${cert}, keyFile: ${key}}` },
    message,
  ]),
  [
    'a CA of the environment that is none',
    { environment: { REDLOCK_MASTERS: 'rediss://a', REDLOCK_CA_FILE: 'garbage' } },
    'REDLOCK_CA_FILE: "garbage": holds no certificate',
  ],
  [
    'half a certificate of the environment',
    { environment: { REDLOCK_MASTERS: 'rediss://a', REDLOCK_CERT_FILE: 'cert' } },
    'REDLOCK_CERT_FILE: only one of certFile and keyFile',
  ],
  [
    'half a certificate',
    { file: 'masters: ["rediss://a"]\ntls: {certFile: cert}' },
    'rc:2: tls.certFile: only one of certFile and keyFile',
  ],
];

describe('logins that will not do', () => {
  test.each([...refusedPasswords, ...refusedCertificates])(
    'are refused: %s',
    async (_, scene, message) => {
      const found = await failure({ ...scene, files });
      expect(found).toMatchObject({ exitCode: 78, message: expect.stringContaining(message) });
    },
  );

  it('never reach a message', async () => {
    const secret = 's3cr3t';
    const scenes: Scene[] = [
      { flags: ['--master', `redis://u:${secret}@h:0`] },
      { flags: ['--master', `u:${secret}@h`] },
      { flags: ['--master', `redis://u:${secret}@h`, '--master', `redis://u:${secret}@h`] },
      { flags: ['--master', `redis://u:${secret}@h`, '--ttl', `redis://u:${secret}@h`] },
      { environment: { REDLOCK_MASTERS: `redis://u:${secret},x@h` } },
      {
        environment: {
          REDLOCK_PASSWORD: secret,
          REDLOCK_PASSWORD_FILE: 'pw',
          REDLOCK_MASTERS: 'a',
        },
      },
      { environment: { REDLOCK_PASSWORD: secret, REDLOCK_MASTERS: 'a,a' } },
    ];
    for (const scene of scenes)
      expect((await failure({ ...scene, files })).message).not.toContain(secret);
  });
});
