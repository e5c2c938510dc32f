// Which file is found, what it may hold, and the error for each mistake: file, line, key, reason.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${VAR} is what stands in the file

import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { keyTable } from '../../../src/config/setting-table.ts';
import { nearest } from '../../../src/text/suggestion.ts';
import { pemFile } from '../../servers/pem.ts';
import { createScratch, failure, type Scene, settle } from './scratch.ts';

const here = { 'work/.redlockrc': 'local: true\nttl: 11' };
const parent = { '.redlockrc': 'local: true\nttl: 12' };
const home = { 'home/.redlockrc': 'local: true\nttl: 13' };
const system = { 'etc/redlockrc': 'local: true\nttl: 14' };
const other = { 'other/rc': 'local: true\nttl: 15', 'work/rc': 'local: true\nttl: 16' };
const all = { ...here, ...parent, ...home, ...system, ...other };

describe('finds', () => {
  test.each<[string, string, Scene, string, number]>([
    [
      '--config first',
      '../other/rc',
      { files: all, environment: { REDLOCK_CONFIG: 'rc' } },
      'work',
      15_000,
    ],
    [
      'then REDLOCK_CONFIG',
      '',
      { files: all, environment: { REDLOCK_CONFIG: 'rc' } },
      'work',
      16_000,
    ],
    [
      'then the working directory',
      '',
      { files: all, environment: { REDLOCK_CONFIG: '' } },
      'work',
      11_000,
    ],
    ['then its parent', '', { files: all }, 'work/deep', 11_000],
    [
      'then the nearest parent',
      '',
      { files: { ...parent, ...home, ...system } },
      'work/deep',
      12_000,
    ],
    ['then the home directory', '', { files: { ...home, ...system } }, 'work/deep', 13_000],
    ['then the system', '', { files: system }, 'work/deep', 14_000],
    ['then nothing', '', { flags: ['--local'] }, 'work/deep', 30_000],
  ])('%s', async (_, config, scene, cwd, ttlMs) => {
    const flags = [...(scene.flags ?? []), ...(config === '' ? [] : ['--config', config])];
    expect((await settle({ ...scene, flags }, createScratch(scene.files), cwd)).ttlMs).toBe(ttlMs);
  });

  it('one file only: an empty one ends the search', async () => {
    const settings = await settle({ file: '', files: home, flags: ['--local'] });
    expect(settings.ttlMs).toBe(30_000);
    expect(settings.configFile).toMatch(/\/work\/\.redlockrc$/);
  });

  it('nothing in /dev/null', async () => {
    expect((await settle({ files: here, flags: ['--local', '--config', '/dev/null'] })).ttlMs).toBe(
      30_000,
    );
  });

  test.each<[string, Scene, string]>([
    ['a missing --config', { flags: ['--config', 'no'] }, '--config: "no": no such file'],
    ['an empty --config', { flags: ['--config', ''] }, '--config: "": no such file'],
    [
      'a missing REDLOCK_CONFIG',
      { environment: { REDLOCK_CONFIG: 'no' } },
      'REDLOCK_CONFIG: "no": no such file',
    ],
    ['a directory as --config', { flags: ['--config', '.'] }, '--config: ~/work: is a directory'],
    [
      'a path through a file',
      { flags: ['--config', 'a/b'], files: { 'work/a': '' } },
      '--config: "a/b": no such file',
    ],
  ])('fault with %s', async (_, scene, message) => {
    expect(await failure(scene)).toMatchObject({
      exitCode: 78,
      message: expect.stringContaining(message),
    });
  });

  it.skipIf(process.getuid?.() === 0)('fault with a file that may not be read', async () => {
    const root = createScratch(here);
    chmodSync(join(root, 'work/.redlockrc'), 0);
    await expect(settle({}, root)).rejects.toThrow(/^config: .*: permission denied \(/);
  });

  it('fault with links that go in circles, but not with one that leads nowhere', async () => {
    const root = createScratch(parent);
    symlinkSync('nowhere', join(root, 'work/deep/.redlockrc'));
    expect((await settle({}, root, 'work/deep')).ttlMs).toBe(12_000);
    symlinkSync('.redlockrc', join(root, 'work/.redlockrc'));
    await expect(settle({}, root, 'work')).rejects.toThrow('too many symbolic links');
  });
});

describe('refuses, with file, line and key', () => {
  test.each([
    // Not YAML
    ['a: [', '1: not valid YAML'],
    ['local: true\nttl: "30s', '2: not valid YAML'],
    ['local: true\n\tttl: 30s', '2: not valid YAML'],
    ['ttl: 1\nlocal: true\nttl: 2', '3: ttl: stands here a second time'],
    ['{"ttl": 1, "ttl": 2}', '1: ttl: stands here a second time'],
    ['local: true\n---\nlocal: true', '2: not valid here: a second document'],
    ['ttl: !duration 5s', '1: not valid here: tags'],
    ['ttl: !!binary aGk=', '1: not valid here: tags'],
    ['local: true\nttl: &a 5s', '2: anchors and aliases are not supported'],
    ['ttl: &a 5s\nwait: *a', '1: anchors and aliases are not supported'],
    ['prefix: redlock:', "1: not valid YAML: a value with a colon (put it in quotes: 'redlock:')"],
    ['masters:\n  - one\n - two', '3: not valid YAML: a dash left of the dashes above it (put'],
    ['- ttl', '1: not a mapping'],
    ['just words', '1: not a mapping'],
    ['42', '1: not a mapping'],
    ['a: b\u0000\u0001: [}', '1: not valid YAML'],
    // Unknown keys
    ['local: true\ntll: 5s', '2: tll: unknown key (did you mean ttl?)'],
    ['master_timeout: 5s', '1: master_timeout: unknown key (did you mean masterTimeout?)'],
    ['TTL: 5s', '1: TTL: unknown key (did you mean ttl?)'],
    ['xyzzyplugh: 5s', '1: xyzzyplugh: unknown key (see man redlockrc)'],
    ['"a b": 5s', '1: "a b": unknown key'],
    ['__proto__: 5s', '1: __proto__: unknown key'],
    ['toString: 5s', '1: toString: unknown key'],
    ['tls:\n  cafile: x', '2: tls.cafile: unknown key (did you mean caFile?)'],
    [
      'masters:\n  - a\n  - url: b\n    pasword: x',
      '4: masters[1].pasword: unknown key (did you mean password?)',
    ],
    [
      'masters:\n  - url: b\n    tls:\n      crtFile: x',
      '4: masters[0].tls.crtFile: unknown key (did you mean certFile?)',
    ],
    ['restartgrace: 30s', '1: restartgrace: unknown key (did you mean restartGrace?)'],
    // Shapes
    ['local: true\nttl:', '2: ttl: has no value'],
    ['ttl: [5s]', '1: ttl: not a duration'],
    ['ttl: true', '1: ttl: not a duration'],
    ['prefix: 5', '1: prefix: not text (put it in quotes)'],
    ['password: 12345', '1: password: not text (put it in quotes)'],
    ['local: 5', '1: local: neither yes nor no'],
    ['logFormat: 5', '1: logFormat: not a log format'],
    ['signal: [TERM]', '1: signal: not a signal'],
    ['conflictExitCode: {}', '1: conflictExitCode: not an exit status'],
    ['masters: redis://h', '1: masters: not a list'],
    ['masters:\n  - a\n  - 5', '3: masters[1]: neither a URL nor a mapping'],
    ['masters:\n  - username: b', '2: masters[0]: url is missing (write url: redis://host:6379)'],
    ['masters:\n  - url: 5', '2: masters[0].url: not text'],
    ['tls: yes', '1: tls: not a mapping'],
    // Values
    ['local: true\n\nttl: 30 potatoes', '3: ttl: "30 potatoes": not a duration (write'],
    ['ttl: -5', '1: ttl: "-5": not a duration'],
    ['ttl: .nan', '1: ttl: not a duration'],
    ['ttl: .inf', '1: ttl: "Infinity": not a duration'],
    ['ttl: 25h', '1: ttl: "25h": after a crash the lock would stay held'],
    ['local: maybe', '1: local: "maybe": neither yes nor no'],
    ['signal: STOP', '1: signal: "STOP": does not end a process'],
    ['conflictExitCode: 256', '1: conflictExitCode: "256": not an exit status'],
    ['logFormat: xml', '1: logFormat: "xml": not a log format'],
    [
      'masters:\n  - redis://a\n  - redis://b:99999',
      '3: masters[1]: "redis://b:99999": not a port',
    ],
    // Variables
    ['local: true\nprefix: a${NO}b', '2: prefix: ${NO}: not set in the environment'],
    ['prefix: ${EMPTY}', '1: prefix: ${EMPTY}: not set in the environment, or empty'],
    ['prefix: "${a b}"', '1: prefix: not a variable'],
    ['prefix: "${"', '1: prefix: not a variable'],
    ['prefix: "${HOME"', '1: prefix: not a variable'],
    ['masters:\n  - url: a\n    password: ${NO}', '3: masters[0].password: ${NO}: not set'],
    ['masters: [a, "${NO}"]', '1: masters[1]: ${NO}: not set'],
  ])('%j', async (file, message) => {
    const found = await failure({ file, environment: { EMPTY: '' } });
    expect(found).toMatchObject({ name: 'ConfigError', exitCode: 78 });
    expect(found.message).toContain(`~/work/.redlockrc:${message}`);
    expect(found.message).toMatch(/^\P{Cc}{1,300}$/u);
  });

  it('a file that is not text', async () => {
    const root = createScratch();
    writeFileSync(join(root, 'work/.redlockrc'), Buffer.from([0xff, 0xfe, 0x00, 0xc3]));
    await expect(settle({}, root)).rejects.toThrow('not text in UTF-8');
  });

  it('a bomb of aliases, quickly', async () => {
    const levels = Array.from(
      { length: 30 },
      (_, index) => `k${index}: &k${index} [*k${index - 1}, *k${index - 1}]`,
    );
    const found = await failure({ file: ['k: &k-1 [x]', ...levels].join('\n') });
    expect(found.exitCode).toBe(78);
  });
});

describe('never shows a secret', () => {
  test.each([
    'password: "s3cr3t',
    'password: "s3cr3t\\q"',
    'password: s3cr3t: x',
    'password: |s3cr3t\n x',
    'password: !s3cr3t x',
    'password: *s3cr3t',
    'password: [s3cr3t]',
    'password: {s3cr3t: 1}',
    'password: s3cr3t${',
    'password: s3cr3t${NO}',
    '%s3cr3t\n---\npassword: x',
    'masters: redis://u:s3cr3t@h',
    'masters: ["redis://u:s3cr3t@h:0"]',
    'masters: ["redis://u:s3cr3t@h:1", "redis://u:s3cr3t@h:1"]',
    'masters: [{url: "redis://u:s3cr3t@h", password: x}]',
    'masters: [{url: "redis://u:x@h", password: s3cr3t}]',
    'masters: [{url: redis://h, password: s3cr3t, passwordFile: x}]',
    'password: s3cr3t\npasswordFile: x\nmasters: [a]',
    'password: s3cr3t',
  ])('%j', async (file) => {
    const found = await failure({ file });
    expect(found.exitCode).toBe(78);
    expect(found.message).not.toContain('s3cr3t');
  });
});

describe('reads', () => {
  test.each([
    ['local: true\nttl: 45', { ttlMs: 45_000 }],
    ['local: true\nttl: 4.5', { ttlMs: 4_500 }],
    ['local: true\nttl: 1m', { ttlMs: 60_000 }],
    ['local: true\nttl: ${TTL}', { ttlMs: 40_000 }],
    ['local: ${YES}', { local: true }],
    ['local: true\nprefix: "a${TTL}$${TTL}$TTL"', { prefix: 'a40${TTL}$TTL' }],
    ['local: true\nprefix: "${YAML}"', { prefix: 'x\nttl: 5' }],
    ["local: true\nprefix: ''", { prefix: '' }],
    ['local: true\nsignal: 9', { stopSignal: 'SIGKILL' }],
    ['local: true\nconflictExitCode: 0', { conflictExitCode: 0 }],
    ['local: true\nwait: 0', { waitMs: 0 }],
    ['local: true\nwait: forever', { waitMs: null }],
    ['local: true\nmaxRun: none', { maxRunMs: null }],
    ['{"local": true, "ttl": "1m"}', { ttlMs: 60_000 }],
    ['\uFEFFlocal: true', { local: true }],
    ['# only a comment\nlocal: true', { local: true }],
  ])('%j', async (file, expected) => {
    const environment = { TTL: '40', YES: 'true', YAML: 'x\nttl: 5' };
    expect(await settle({ file, environment })).toMatchObject(expected);
  });

  it.each(['', '\n', '# nothing\n', '---\n', '{}', 'null'])('%j as no settings', async (file) => {
    expect((await settle({ file, flags: ['--local'] })).ttlMs).toBe(30_000);
  });
});

describe('warns about a password that others can read', () => {
  const named = ['--config', '.redlockrc'];
  test.each([
    ['password: p', 0o644, true],
    ['password: p', 0o640, false], // Meant for a group, as in /etc.
    ['password: p', 0o604, true],
    ['password: p', 0o600, false],
    ['password: "${P}"', 0o644, false],
    ['passwordFile: pw', 0o644, false],
    ['prefix: a://b:c@d', 0o644, false],
  ])('%j with mode %o: %s', async (line, mode, warned) => {
    const root = createScratch({ 'work/.redlockrc': `masters: [a]\n${line}`, 'work/pw': 'x' });
    chmodSync(join(root, 'work/.redlockrc'), mode);
    const { minorWarnings: warnings } = await settle(
      { flags: named, environment: { P: 'p' } },
      root,
    );
    expect(warnings).toEqual(
      warned
        ? [
            {
              kind: 'exposed-secret',
              file: join(root, 'work/.redlockrc'),
              message: 'holds a password and is readable by others',
              advice: 'chmod 600 it, or use passwordFile',
            },
          ]
        : [],
    );
  });

  test.each([
    ['passwordFile: pw', 0o644, 1],
    ['passwordFile: pw', 0o604, 1],
    ['passwordFile: pw', 0o640, 0], // Meant for a group, as the secrets of containers are.
    ['passwordFile: pw', 0o600, 0],
    ['password: p', 0o644, 0],
    ['masters: [{url: a, passwordFile: pw}, {url: b, passwordFile: pw}, c]', 0o644, 1],
  ])('%j, the file of which has mode %o: %i times', async (line, mode, count) => {
    const masters = line.startsWith('masters') ? '' : 'masters: [a]\n';
    const root = createScratch({ 'work/.redlockrc': `${masters}${line}`, 'work/pw': 'x' });
    chmodSync(join(root, 'work/pw'), mode);
    const message = 'holds a password and is readable by others';
    const about = { kind: 'exposed-secret', file: join(root, 'work/pw'), message };
    const warning = { ...about, advice: 'chmod 600 it' };
    expect((await settle({ flags: named }, root)).minorWarnings).toEqual(
      Array(count).fill(warning),
    );
  });

  test.each([
    [0o644, true],
    [0o640, false],
    [0o600, false],
  ])('a keyFile with mode %o: %s', async (mode, isWarned) => {
    const text = `masters: ["rediss://a"]\ntls: {certFile: cert, keyFile: key}`;
    const [cert, key] = ['client.pem', 'client.key'].map((name) => readFileSync(pemFile(name)));
    const root = createScratch({
      'work/.redlockrc': text,
      'work/cert': String(cert),
      'work/key': String(key),
    });
    chmodSync(join(root, 'work/key'), mode);
    const message = 'holds a private key and is readable by others';
    const about = { kind: 'exposed-secret', file: join(root, 'work/key'), message };
    expect((await settle({ flags: named }, root)).minorWarnings).toEqual(
      isWarned ? [{ ...about, advice: 'chmod 600 it' }] : [],
    );
  });

  test.each([
    ['redis://u:p@h', true],
    ['redis://:p@h', true],
    ['redis://u:${P}@h', false],
  ])('%s: %s', async (url, warned) => {
    const root = createScratch({ 'work/.redlockrc': `masters: ["${url}"]` });
    chmodSync(join(root, 'work/.redlockrc'), 0o644);
    expect(
      (await settle({ flags: named, environment: { P: 'p' } }, root)).minorWarnings.length,
    ).toBe(warned ? 1 : 0);
  });
});

describe('nearest', () => {
  const keys = keyTable.map((row) => row.key);

  test.each([
    ['tll', 'ttl'],
    ['lcoal', 'local'],
    ['amxRnu', 'maxRun'],
    ['master', 'masters'],
    ['logformat', 'logFormat'],
    ['killafter', 'killAfter'],
    ['passwordfile', 'passwordFile'],
    ['x', null],
    ['somethingelse', null],
    ['t'.repeat(100_000), null],
  ])('%#', (word, expected) => expect(nearest(word, keys)).toBe(expected));

  it('finds itself', () => expect(keys.map((key) => nearest(key, keys))).toEqual(keys));
});

it('ignores a directory in the place of a file where a nearer file was found', async () => {
  const root = createScratch(here);
  mkdirSync(join(root, 'home/.redlockrc'));
  expect((await settle({}, root)).ttlMs).toBe(11_000);
});
