// A configuration file that was found, and not named: its owner, its keys, and where the search
// ends. Only root can make files of another user; test/cli/found-config.test.ts has them as well.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${VAR} is what stands in the file

import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { userOf } from '../../../src/system/caller.ts';
import { createScratch, settle } from './scratch.ts';

const isRoot = process.getuid?.() === 0;
const stranger = 65_534;
const local = ['--local'];
const found = 'work/.redlockrc';
const fifo = (path: string) => void execFileSync('mkfifo', [path]);
const unixSocket = (path: string) => {
  const listen = 'require("node:net").createServer().listen(process.argv[1], process.exit)';
  execFileSync(process.execPath, ['-e', listen, path]);
};

/** The settings or the error of a run in `work/deep`, or in the given folder. */
async function refusalIn(root: string, cwd = 'work/deep', environment = {}): Promise<string> {
  const error = await settle({ flags: local, environment }, root, cwd).then(
    () => null,
    (reason: Error) => reason,
  );
  expect(error).toMatchObject({ name: 'ConfigError', exitCode: 78 });
  return error?.message.replaceAll(root, '~') ?? '';
}

describe('a found file is refused, with its owner and the way out', () => {
  test.each<[string, string, (path: string) => void, boolean?]>([
    [
      'of another user',
      'belongs to nobody (uid 65534)',
      (path) => chownSync(path, stranger, 0),
      true,
    ],
    [
      'of a user without a name',
      'belongs to uid 61234, not to you or root',
      (path) => chownSync(path, 61_234, 0),
      true,
    ],
    [
      'that everyone can write',
      'can be written by everyone (mode 602)',
      (path) => chmodSync(path, 0o602),
    ],
    [
      'that another group can write',
      'can be written by group 65534 (mode 620)',
      (path) => {
        chownSync(path, 0, stranger);
        chmodSync(path, 0o620);
      },
      true,
    ],
    [
      'that is a folder',
      'is a directory of ',
      (path) => {
        unlinkSync(path);
        mkdirSync(path);
      },
    ],
    [
      'that is a pipe with no writer',
      'is a pipe of ',
      (path) => {
        unlinkSync(path);
        fifo(path);
      },
    ],
    [
      'that is a socket',
      'is a device or a socket of ',
      (path) => {
        unlinkSync(path);
        unixSocket(path);
      },
    ],
    [
      'that is a device',
      `is a device or a socket of ${userOf(0)}`,
      (path) => {
        unlinkSync(path);
        symlinkSync('/dev/zero', path);
      },
    ],
    [
      'behind a link of another user',
      'is a link that belongs to nobody (uid 65534)',
      (path) => {
        unlinkSync(path);
        symlinkSync('../etc/redlockrc', path);
        lchownSync(path, stranger, stranger);
      },
      true,
    ],
    [
      'of another user behind a link of the caller',
      'is a link to a file that belongs to nobody (uid 65534)',
      (path) => {
        unlinkSync(path);
        symlinkSync('../etc/redlockrc', path);
        chownSync(path, stranger, stranger);
      },
      true,
    ],
  ])('%s', async (_, why, change, asRoot = false) => {
    if (asRoot && !isRoot) return;
    const root = createScratch({ [found]: 'ttl: 11', 'etc/redlockrc': 'ttl: 14' });
    change(join(root, found));
    const message = await refusalIn(root);
    expect(message).toContain(`config: ~/${found}: `);
    expect(message).toContain(why);
    expect(message).toMatch(/ \(name it by --config to use it\)$/);
  });

  it('in the other places as well', async () => {
    const places = ['home/.redlockrc', 'home/.config/redlock-run/config.yaml', 'etc/redlockrc'];
    for (const position of places) {
      const root = createScratch({ [position]: 'ttl: 11' });
      chmodSync(join(root, position), 0o666);
      expect(await refusalIn(root)).toContain(`config: ~/${position}: belongs to `);
    }
  });
});

describe('a found file is read', () => {
  const ttlOf = async (root: string) => (await settle({ flags: local }, root, 'work/deep')).ttlMs;

  it.each([0o600, 0o644, 0o400])('of the caller, with mode %o', async (mode) => {
    const root = createScratch({ [found]: 'ttl: 11' });
    chmodSync(join(root, found), mode);
    expect(await ttlOf(root)).toBe(11_000);
  });

  it('that the group of the caller can write, only when it is a private group', async () => {
    const root = createScratch({ [found]: 'ttl: 11' });
    chmodSync(join(root, found), 0o664);
    if (process.getgid?.() === process.getuid?.()) expect(await ttlOf(root)).toBe(11_000);
    else await expect(ttlOf(root)).rejects.toThrow('can be written by group');
  });

  it('behind a link of the caller', async () => {
    const root = createScratch({ 'home/dotfiles/rc': 'ttl: 11\nonLost: "true"' });
    symlinkSync('dotfiles/rc', join(root, 'home/.redlockrc'));
    expect(await ttlOf(root)).toBe(11_000);
  });

  it.runIf(isRoot)(
    'from the home directory also when it is named by --config, whosever it is',
    async () => {
      const root = createScratch({ [found]: 'ttl: 11\nonLost: "true"' });
      chownSync(join(root, found), stranger, stranger);
      const flags = [...local, '--config', join(root, found)];
      expect(await settle({ flags }, root)).toMatchObject({ ttlMs: 11_000, onLost: 'true' });
    },
  );
});

describe('a file found outside of the home directory, $XDG_CONFIG_HOME and /etc', () => {
  test.each([
    ['onLost: touch /tmp/x', '1: onLost'],
    ['ttl: 5s\nnotify: touch /tmp/x', '2: notify'],
    ['passwordCommand: cat x', '1: passwordCommand'],
    ['passwordFile: x', '1: passwordFile'],
    ['passwordCommand: x', '1: passwordCommand'],
    ['masters:\n  - a\n  - url: b\n    passwordFile: x', '4: masters[1].passwordFile'],
    ['tls:\n  certFile: c\n  keyFile: k', '3: tls.keyFile'],
    ['masters: [{url: "rediss://b", tls: {keyFile: k}}]', '1: masters[0].tls.keyFile'],
    ['{"onLost": "x"}', '1: onLost'],
  ])('may not say %j', async (text, position) => {
    const message = await refusalIn(createScratch({ [found]: text }));
    expect(message).toContain(`~/${found}:${position}: `);
    expect(message).toMatch(/\(name the file by --config to use it\)$/);
  });

  it('sees variables that begin with REDLOCK_, and no others', async () => {
    const root = createScratch({ [found]: 'prefix: "${REDLOCK_STAGE}:"' });
    const environment = { REDLOCK_STAGE: 'test', SECRET: 's3cr3t', XREDLOCK_: 'x' };
    expect((await settle({ flags: local, environment }, root)).prefix).toBe('test:');
    for (const name of ['SECRET', 'HOME', 'XREDLOCK_']) {
      const message = await refusalIn(
        createScratch({ [found]: `prefix: "\${${name}}"` }),
        'work',
        environment,
      );
      expect(message).toContain(`1: prefix: \${${name}}: `);
      expect(message).not.toContain('s3cr3t');
      expect(message).toContain('--config');
    }
  });

  const whole = 'onLost: "true"\nprefix: "${SECRET}"';
  test.each([
    ['in the home directory', 'home/.redlockrc'],
    ['below the home directory', 'home/project/.redlockrc'],
    ['in .config', 'home/.config/redlock-run/config.yaml'],
    ['in $XDG_CONFIG_HOME', 'xdg/redlock-run/config.yaml'],
    ['in /etc', 'etc/redlockrc'],
  ])('is not what stands %s', async (_, position) => {
    const root = createScratch({ [position]: whole, 'home/project/sub/x': '' });
    const xdg = position.startsWith('xdg') ? { XDG_CONFIG_HOME: join(root, 'xdg') } : {};
    const environment = { SECRET: 's', ...xdg };
    const cwd = position.includes('project') ? 'home/project/sub' : 'work';
    const settings = await settle({ flags: local, environment }, root, cwd);
    expect(settings).toMatchObject({
      onLost: 'true',
      prefix: 's',
      configFile: join(root, position),
    });
  });

  it.runIf(isRoot)('is what stands in a home directory of another user', async () => {
    const root = createScratch({ 'home/.redlockrc': whole });
    chownSync(join(root, 'home'), stranger, stranger);
    expect(await refusalIn(root)).toContain('SECRET');
  });

  it('is everything when the home directory is /', async () => {
    const root = createScratch({ [found]: whole });
    expect(await refusalIn(root, 'work', { SECRET: 's' })).toContain('--config');
    await expect(settle({ flags: local, home: '/' }, root)).rejects.toThrow('--config');
  });
});

describe('the search', () => {
  const ttls = {
    '.redlockrc': 'ttl: 11',
    'home/.config/redlock-run/config.yaml': 'ttl: 12',
    'home/.redlockrc': 'ttl: 13',
    'etc/redlockrc': 'ttl: 14',
  };
  const ttlIn = async (root: string, cwd: string, more = {}) =>
    (await settle({ flags: local, ...more }, root, cwd)).ttlMs;

  it('goes up to the home directory when it begins inside of it, and no further', async () => {
    const root = createScratch({
      '.redlockrc': 'ttl: 11',
      'home/a/b/x': '',
      'etc/redlockrc': 'ttl: 14',
    });
    expect(await ttlIn(root, 'home/a/b')).toBe(14_000);
    expect(await ttlIn(root, 'home')).toBe(14_000);
    expect(await ttlIn(root, 'work/deep')).toBe(11_000);
  });

  it('knows the home directory behind a link', async () => {
    const root = createScratch({
      '.redlockrc': 'ttl: 11',
      'real/a/x': '',
      'etc/redlockrc': 'ttl: 14',
    });
    symlinkSync('real', join(root, 'link'));
    expect(await ttlIn(root, 'real/a', { home: join(root, 'link') })).toBe(14_000);
  });

  it('tries $XDG_CONFIG_HOME before the home directory', async () => {
    const { '.redlockrc': _, ...places } = ttls;
    expect(await ttlIn(createScratch(places), 'work')).toBe(12_000);
    const root = createScratch({ ...places, 'xdg/redlock-run/config.yaml': 'ttl: 15' });
    const environment = { XDG_CONFIG_HOME: join(root, 'xdg') };
    expect(await ttlIn(root, 'work', { environment })).toBe(15_000);
    // The specification ignores a path that is not absolute.
    expect(await ttlIn(root, 'work', { environment: { XDG_CONFIG_HOME: 'xdg' } })).toBe(12_000);
  });

  it('leaves out the working directory and its parents with searchesParents: false', async () => {
    const root = createScratch({ ...ttls, 'work/.redlockrc': 'ttl: 10' });
    expect(await ttlIn(root, 'work', { searchesParents: false })).toBe(12_000);
  });

  it.skipIf(isRoot)(
    'ends at a folder that may not be entered, and tries the other places',
    async () => {
      const root = createScratch({ ...ttls, 'work/closed/sub/x': '' });
      chmodSync(join(root, 'work/closed'), 0);
      expect(await ttlIn(root, 'work/closed/sub')).toBe(12_000);
      expect(await ttlIn(root, 'work/closed')).toBe(12_000);
      chmodSync(join(root, 'work/closed'), 0o700);
      chmodSync(join(root, 'home'), 0);
      expect(await ttlIn(root, 'home')).toBe(14_000);
      chmodSync(join(root, 'home'), 0o700);
    },
  );
});
