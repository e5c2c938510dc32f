// The files of a release (`npm run release -- --out DIR --url file://DIR`), as their users get
// them: checksums, what is in each package, and a job on real masters by what was unpacked. DIR
// stands in RELEASE_DIR. Root is needed to enter the image.

import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { environmentFor, locksOn, untilNothingIsLeft, useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { eventually } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const run = promisify(execFile);
const { masters } = useMasters(3, { transport: 'tcp' });
const folder = process.env.RELEASE_DIR ?? '';

beforeAll(() => {
  if (folder === '') throw new Error('RELEASE_DIR: not set: name what `npm run release` has made');
});

const named = (pattern: RegExp): string => {
  const found = readdirSync(folder).filter((name) => pattern.test(name));
  expect(found).toHaveLength(1);
  return join(folder, found[0] ?? '');
};
const fresh = () => mkdtempSync(join(scratchFolder(), 'unpacked-'));
const arch = process.arch === 'x64' ? 'amd64' : process.arch;
const libraries = process.arch === 'x64' ? 'x86_64' : 'aarch64';
const environment = () => ({ PATH: process.env.PATH, HOME: fresh(), ...environmentFor(masters) });

const ended = (child: ReturnType<typeof spawn>) =>
  new Promise<number | null>((resolve) => child.once('close', resolve));

/** What every package installs, but for the files of zsh, which have a place in each system. */
const installed = [
  'etc/redlockrc.example',
  'usr/bin/redlock-guard',
  'usr/bin/redlock-run',
  'usr/bin/redlockctl',
  'usr/share/bash-completion/completions/redlock-run',
  'usr/share/bash-completion/completions/redlockctl',
  'usr/share/doc/redlock-run/CHANGELOG.md',
  'usr/share/doc/redlock-run/LICENSES.txt',
  'usr/share/doc/redlock-run/copyright',
  'usr/share/fish/vendor_completions.d/redlock-run.fish',
  'usr/share/fish/vendor_completions.d/redlockctl.fish',
  'usr/share/man/man1/redlock-run.1.gz',
  'usr/share/man/man1/redlockctl.1.gz',
  'usr/share/man/man5/redlockrc.5.gz',
];

const filesIn = async (tree: string) =>
  (await run('find', ['.', '!', '-type', 'd'], { cwd: tree })).stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(2))
    .sort();

test('SHA256SUMS has every file but itself, with its checksum', async () => {
  const { stdout } = await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder });
  const checked = stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/: OK$/, ''));
  expect([...checked, 'SHA256SUMS'].sort()).toEqual(readdirSync(folder).sort());
});

test('--dry-run names every file', async () => {
  const args = ['--out', fresh(), '--url', 'https://example.com', '--dry-run'];
  const script = join(import.meta.dirname, '../../scripts/release.js');
  const { stdout } = await run(process.execPath, [script, ...args]);
  expect(stdout.trim().split('\n').sort()).toEqual(readdirSync(folder).sort());
});

test('LICENSES.txt has in full what is in the executable and in the image', () => {
  const text = readFileSync(join(folder, 'LICENSES.txt'), 'utf8');
  // Each package with its licence, and not only the name of it.
  expect(text.slice(0, text.indexOf('\nBun '))).not.toMatch(/^License: /m);
  for (const heading of [
    'GNU LESSER GENERAL PUBLIC LICENSE\n *Version 2\\.1',
    'GNU GENERAL PUBLIC LICENSE\n *Version 2',
    'GNU GENERAL PUBLIC LICENSE\n *Version 3',
    'GCC RUNTIME LIBRARY EXCEPTION',
    'Apache License\n *Version 2\\.0',
    'Bun \\S+ is under the MIT License[\\s\\S]*\nPermission is hereby granted',
    '\nboringssl: ',
    '\nredlock-guard for Linux contains musl',
    '\nmusl\n[\\s\\S]*Rich Felker[\\s\\S]*Permission is hereby granted',
  ])
    expect(text).toMatch(new RegExp(heading));
});

test('the npm package installs the guard of each system in its own version', async () => {
  const manifestIn = async (file: string) => {
    const { stdout } = await run('tar', ['-xzOf', join(folder, file), 'package/package.json']);
    return JSON.parse(stdout);
  };
  const { version, optionalDependencies } = await manifestIn(
    named(/^redlock-run-[\d.]+\.tgz$/).slice(folder.length),
  );
  const found: Record<string, string> = {};
  for (const file of readdirSync(folder).filter((name) => /-guard-.*\.tgz$/.test(name))) {
    const guard = await manifestIn(file);
    expect(guard.name).toBe(`@redlock-run/guard-${guard.os}-${guard.cpu}`);
    found[guard.name] = guard.version;
  }
  expect(Object.keys(found)).toHaveLength(4);
  expect(found).toEqual(optionalDependencies);
  expect(new Set(Object.values(found))).toEqual(new Set([version]));
});

test('each guard for Linux is static, so it runs with glibc and musl', async () => {
  for (const [system, machine] of [
    ['linux-x64', 62],
    ['linux-arm64', 183],
  ] as const) {
    const tree = fresh();
    await run('tar', ['-xzf', named(new RegExp(`guard-${system}-.*\\.tgz$`)), '-C', tree]);
    const file = join(tree, 'package/redlock-guard');
    const bytes = readFileSync(file);
    expect(bytes.readUInt16LE(18)).toBe(machine);
    expect(bytes.includes('/ld-')).toBe(false); // No loader.
    expect(statSync(file).mode & 0o111).toBe(0o111);
  }
});

interface Component {
  readonly name: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license?: { readonly id: string }; expression?: string }[];
}

const components = (): Component[] =>
  JSON.parse(readFileSync(named(/\.cdx\.json$/), 'utf8')).components;
const licencesOf = ({ licenses }: Component) =>
  licenses.map(({ license, expression }) => license?.id ?? expression ?? '');

test('the SBOM has what is inside of Bun', () => {
  const found = components().map(({ name }) => name);
  expect(found).toEqual(expect.arrayContaining(['bun', 'javascriptcore', 'libstdc++', 'musl']));
});

test('the SBOM has of the wheel what the image has of it', () => {
  const found = components().filter(({ purl }) => /apk|pypi/.test(purl));
  expect(found.map(({ name }) => name)).toEqual(['libstdc++', 'libgcc']);
  const licences = found.flatMap(licencesOf);
  expect(new Set(licences)).toEqual(new Set(['GPL-3.0-or-later WITH GCC-exception-3.1']));
});

describe('packages', () => {
  const zsh = 'usr/share/zsh/site-functions/_redlockctl';

  test('the .deb has its files, no script and no service, and runs a job', async () => {
    const file = named(new RegExp(`_${arch}\\.deb$`));
    const tree = fresh();
    await run('dpkg-deb', ['-R', file, tree]);
    expect(readdirSync(join(tree, 'DEBIAN')).sort()).toEqual(['control', 'md5sums']);
    const files = (await filesIn(tree)).filter((name) => !name.startsWith('DEBIAN/'));
    expect(files).toEqual([...installed, 'usr/share/zsh/vendor-completions/_redlockctl'].sort());
    const program = join(tree, 'usr/bin/redlock-run');
    const args = ['packaged', '--', 'sh', '-c', 'echo ran $REDLOCK_NAME'];
    expect((await run(program, args, { env: environment() })).stdout).toBe('ran packaged\n');
    const control = readFileSync(join(tree, 'DEBIAN/control'), 'utf8');
    expect(control).toMatch(/^Maintainer: .*@users\.noreply\.github\.com>$/m);
    expect(control).toMatch(/^Description: Run a command .*\n One at a time/m);
    await untilNothingIsLeft(masters);
  });

  test('the .apk has its files and no script', async () => {
    const tree = fresh();
    const file = named(new RegExp(`\\.${libraries}\\.apk$`));
    await run('tar', ['--warning=no-unknown-keyword', '-xzf', file, '-C', tree]);
    expect(await filesIn(tree)).toEqual(['.PKGINFO', ...installed, zsh].sort());
    const about = readFileSync(join(tree, '.PKGINFO'), 'utf8');
    expect(about).toMatch(/^depend = libstdc\+\+$/m);
    // A line that is no field of its own would end what Alpine reads.
    expect(about).toMatch(/^(#.*|\w+ = .*)?(\n(#.*|\w+ = .*)?)*$/);
  });
});

const isInstalled = (program: string) => !spawnSync(program, ['--version']).error;

/** What they say and stays as it is stands in packaging/, with the reason. */
const linters = [
  [
    'lintian',
    ['--allow-root', '--fail-on', 'error,warning', '--suppress-tags-from-file'],
    'lintian.txt',
    new RegExp(`_${arch}\\.deb$`),
  ],
  ['rpmlint', ['--config'], 'rpmlint.toml', new RegExp(`\\.${libraries}\\.rpm$`)],
] as const;

describe('where they are installed', () => {
  for (const [linter, args, list, file] of linters) {
    test.runIf(isInstalled(linter))(`${linter} finds nothing else`, async () => {
      const words = [...args, join(import.meta.dirname, '../../packaging', list), named(file)];
      const ended = await run(linter, words).catch((error) => error);
      expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/: [EW]: |^[EW]: |fatal/m);
    });
  }

  // It has no linter of packages: apkbuild-lint reads the recipe of Alpine's own ones.
  test.runIf(isInstalled('apk'))('apk finds the .apk whole, adds it and removes it', async () => {
    const file = named(new RegExp(`\\.${libraries}\\.apk$`));
    const tree = fresh();
    const apk = (...words: string[]) =>
      run('apk', [...words, '--root', tree, '--no-network', '--allow-untrusted']);
    expect((await run('apk', ['verify', '--allow-untrusted', file])).stdout).toMatch(/: OK$/m);
    // Empty packages with the names of those that it needs.
    await apk('add', '--initdb', '--virtual', 'musl');
    await apk('add', '--virtual', 'libstdc++');
    await apk('add', file);
    expect(existsSync(join(tree, 'usr/bin/redlock-run'))).toBe(true);
    await apk('del', 'redlock-run');
    expect((await filesIn(tree)).filter((name) => /redlock/.test(name))).toEqual([]);
  });
});

const script = join(folder, 'install.sh');
const variables = (prefix: string, more: Record<string, string> = {}) => ({
  PATH: process.env.PATH ?? '',
  PREFIX: prefix,
  REDLOCK_RUN_URL: `file://${folder}`,
  ...more,
});
const install = (prefix: string, args: string[] = [], file = script) =>
  run('sh', [file, ...args], { env: variables(prefix) });

describe('install.sh', () => {
  test('installs what runs, and removes all of it', async () => {
    const prefix = fresh();
    expect((await install(prefix)).stdout).toMatch(/bin\/redlock-run, redlock-run \d/);
    const { stdout } = await run(join(prefix, 'bin/redlockctl'), ['--version']);
    expect(stdout).toMatch(/^redlockctl /);
    await install(prefix, ['remove']);
    expect(await filesIn(prefix)).toEqual([]);
  });

  test('installs nothing that has another checksum', async () => {
    const prefix = fresh();
    const other = join(fresh(), 'install.sh');
    const text = readFileSync(script, 'utf8');
    writeFileSync(other, text.replace(/(linux-\w+\) sum=')./g, '$1x'));
    await expect(install(prefix, [], other)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/checksum .*not installed/),
    });
    expect(await filesIn(prefix)).toEqual([]);
  });

  test('--help and an unknown word install nothing', async () => {
    const prefix = fresh();
    expect((await install(prefix, ['--help'])).stdout).toMatch(/sh install\.sh remove/);
    await expect(install(prefix, ['delete'])).rejects.toMatchObject({ code: 64 });
    expect(await filesIn(prefix)).toEqual([]);
  });

  test('of a script that was cut off, nothing is run', async () => {
    const prefix = fresh();
    const half = join(fresh(), 'install.sh');
    writeFileSync(half, readFileSync(script, 'utf8').replace('main "$@"\n', ''));
    await install(prefix, [], half);
    expect(await filesIn(prefix)).toEqual([]);
  });

  test('a place that cannot be written is told before the download', async () => {
    const prefix = fresh();
    writeFileSync(join(prefix, 'bin'), '');
    const env = variables(prefix, { REDLOCK_RUN_URL: 'http://127.0.0.1:1' });
    await expect(run('sh', [script], { env })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/: cannot be written \(run it as root, or set PREFIX\)/),
    });
  });

  test('fails when a part cannot be installed', async () => {
    const prefix = fresh();
    mkdirSync(join(prefix, 'share'));
    writeFileSync(join(prefix, 'share/fish'), '');
    await expect(install(prefix)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/share\/fish.*only a part is installed/),
    });
    expect(existsSync(join(prefix, 'bin/redlock-run'))).toBe(false);
  });

  test('TERM ends it during the download, and nothing is left', async () => {
    const prefix = fresh();
    const temporary = fresh();
    const server = createServer().listen(0, '127.0.0.1'); // It never answers.
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const more = { REDLOCK_RUN_URL: `http://127.0.0.1:${port}`, TMPDIR: temporary };
    const child = spawn('sh', [script], { env: variables(prefix, more), stdio: 'ignore' });
    await once(server, 'request');
    child.kill('SIGTERM');
    expect(await ended(child)).toBe(143);
    server.close().closeAllConnections();
    expect(readdirSync(temporary)).toEqual([]);
    expect(await filesIn(prefix)).toEqual([]);
  });
});

describe('install.sh, and what the system has', () => {
  /** A PATH with nothing but what the script needs, and `more`. */
  const pathOf = (...more: string[]) => {
    const bin = fresh();
    const needed = 'sh uname tar gzip mktemp sha256sum mkdir rm cp mv find'.split(' ');
    for (const name of [...needed, ...more]) {
      const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
      symlinkSync(found.stdout.trim(), join(bin, name));
    }
    return bin;
  };

  test('from a folder it needs neither curl nor wget; from elsewhere it asks for one', async () => {
    const prefix = fresh();
    const env = variables(prefix, { PATH: pathOf() });
    expect((await run('sh', [script], { env })).stdout).toMatch(/bin\/redlock-run, redlock-run \d/);
    const elsewhere = { ...env, REDLOCK_RUN_URL: 'http://127.0.0.1:1' };
    await expect(run('sh', [script], { env: elsewhere })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/curl, wget: neither is on the PATH/),
    });
  });

  test.runIf(isInstalled('wget'))('downloads by wget where there is no curl', async () => {
    const server = createServer(({ url = '' }, response) => {
      createReadStream(join(folder, url)).pipe(response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const prefix = fresh();
    const more = { PATH: pathOf('wget'), REDLOCK_RUN_URL: `http://127.0.0.1:${port}` };
    const { stdout } = await run('sh', [script], { env: variables(prefix, more) });
    server.close();
    expect(stdout).toMatch(/bin\/redlock-run, redlock-run \d/);
  });

  // Bun, which is in the executable, cannot start there: no code of ours could say why.
  test.runIf(process.getuid?.() === 0)(
    'says that /proc is missing, and why it has to',
    async () => {
      const hidden = (command: string, env: Record<string, string>) =>
        run('unshare', ['--mount', 'sh', '-c', `mount -t tmpfs none /proc && ${command}`], { env });
      const [prefix, marker] = [fresh(), join(fresh(), 'ran')];
      await install(prefix);
      const env = variables(fresh());
      const message = expect.stringMatching(/\/proc: not mounted/);
      await expect(hidden(`sh ${script}`, env)).rejects.toMatchObject({ code: 1, stderr: message });
      const job = `${prefix}/bin/redlock-run job -- touch ${marker}`;
      await expect(hidden(job, { PATH: env.PATH, ...environmentFor(masters) })).rejects.toThrow();
      expect(existsSync(marker)).toBe(false);
    },
  );
});

describe.runIf(process.getuid?.() === 0)('the image', () => {
  let root: string;

  beforeAll(async () => {
    root = fresh();
    const layout = fresh();
    await run('tar', ['-xf', named(/-image\.tar$/), '-C', layout]);
    const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'));
    const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
    const [{ digest: enclosing, annotations }] = json(join(layout, 'index.json')).manifests;
    expect(annotations['org.opencontainers.image.ref.name']).toMatch(/^redlock-run:\d/);
    const images: { platform: { architecture: string }; digest: string }[] = json(
      blob(enclosing),
    ).manifests;
    expect(images.map(({ platform }) => platform.architecture)).toEqual(['amd64', 'arm64']);
    const image = images.find(({ platform }) => platform.architecture === arch);
    const { layers, config } = json(blob(image?.digest ?? ''));
    const { Entrypoint, User, Labels } = json(blob(config.digest)).config;
    expect(Entrypoint).toEqual(['/usr/bin/redlock-run']);
    expect(User).toBe('65534:65534');
    const labels = Object.keys(Labels).map((key) => key.replace(/.*\./, ''));
    expect(labels).toEqual(
      expect.arrayContaining(['created', 'licenses', 'revision', 'source', 'version']),
    );
    const licences = Labels['org.opencontainers.image.licenses'].split(' AND ');
    const inside = new Set(components().flatMap(licencesOf));
    expect(licences).toEqual(expect.arrayContaining([...inside]));
    for (const { digest } of layers) await run('tar', ['-xzf', blob(digest), '-C', root]);
    // A container engine provides it.
    await run('mknod', ['--mode=666', join(root, 'dev/null'), 'c', '1', '3']);
  }, generous(40_000));

  /** Starts the entry point as process 1, as a container engine does, but with this network. */
  const enter = (args: string[]) =>
    spawn(
      'unshare',
      [
        '--mount',
        '--pid',
        '--fork',
        '--mount-proc',
        `--root=${root}`,
        '/usr/bin/redlock-run',
      ].concat(args),
      { env: { PATH: '/usr/bin:/bin', ...environmentFor(masters) } },
    );

  test('runs a job as process 1', async () => {
    const child = enter(['image', '-c', 'tr "\\0" " " < /proc/1/cmdline; exit 7']);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        said += text;
      });
    const code = await ended(child);
    expect(said).toMatch(/^\/usr\/bin\/redlock-run image -c/);
    expect(code).toBe(7);
  });

  test('TERM ends process 1, the job and the lock', async () => {
    const child = enter(['image', '--', 'sleep', '60']);
    const [master] = masters;
    if (master === undefined) throw new Error('no master');
    await eventually('a lock', async () => (await locksOn(master)).length > 0);
    // unshare waits for its child, which is process 1 inside.
    const { stdout } = await run('pgrep', ['--parent', String(child.pid)]);
    process.kill(Number(stdout), 'SIGTERM');
    expect(await ended(child)).toBe(143);
    await untilNothingIsLeft(masters);
  });

  test('has for COPY --from what a system of glibc needs, and nothing more', async () => {
    const copy = fresh();
    cpSync(join(root, 'glibc/bin'), join(copy, 'bin'), { recursive: true, verbatimSymlinks: true });
    mkdirSync(join(copy, 'home'));
    const { stdout } = await run(join(copy, 'bin/redlock-run'), ['copied', '--', 'echo', 'ran'], {
      env: environment(),
    });
    expect(stdout).toBe('ran\n');
    await untilNothingIsLeft(masters);
  });
});
