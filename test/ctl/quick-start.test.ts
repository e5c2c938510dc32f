// Tests docs/quick-start.md: its commands run, and its files say what they should.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { parseAddress } from '../../src/redis/address.ts';
import { environmentFor, useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { isAlive } from '../servers/processes.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const page = readFileSync(new URL('../../docs/quick-start.md', import.meta.url), 'utf8');
const { masters } = useMasters(3, { transport: 'tcp' });
const servers: string[] = [];

afterEach(() => {
  for (const folder of servers.splice(0))
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.pid'))) {
      const pid = Number(readFileSync(join(folder, file), 'utf8'));
      if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    }
});

/** What the commands of a block print, each with its exit code. */
function runBlock(text: string, mark: string, environment: Record<string, string>): string {
  const block = new RegExp(`<!-- run: ${mark} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``);
  const [, script = ''] = block.exec(text) ?? [];
  expect(script).not.toBe('');
  const bin = mkdtempSync(join(scratchFolder(), 'bin-'));
  for (const name of ['redlock-run', 'redlockctl'])
    symlinkSync(fileURLToPath(new URL(`../../bin/${name}.js`, import.meta.url)), join(bin, name));
  const lines = script
    .trim()
    .split('\n')
    .map((line) => `${line}; echo "= $?"`);
  const { stdout, stderr } = spawnSync('sh', ['-c', lines.join('\n')], {
    cwd: bin,
    env: {
      PATH: `${bin}:${join(process.execPath, '..')}:${process.env.PATH}`,
      HOME: process.env.HOME ?? bin,
      ...environment,
    },
    encoding: 'utf8',
    timeout: generous(60_000),
  });
  return stdout + stderr;
}

test('one machine: the masters start, show themselves, and stop', () => {
  const folder = join(mkdtempSync(join(scratchFolder(), 'q')), 'm');
  servers.push(folder);
  const printed = runBlock(page, 'local', {
    REDLOCK_LOCAL_DIRECTORY: folder,
    REDLOCK_CONFIG: environmentFor([]).REDLOCK_CONFIG ?? '',
  });
  expect(printed).toMatch(/^only one of me runs\n= 0\n/);
  expect(printed.match(/ running\n/g)).toHaveLength(3);
  expect(printed.match(/^= \d+$/gm)).toEqual(['= 0', '= 0', '= 0']);
});

test('servers: every command does what it says', () => {
  const { REDLOCK_CONFIG = '', REDLOCK_RESTART_GRACE = '' } = environmentFor([]);
  const shown = masters.map(({ url }) => url);
  const script = page.replace(/redis:\/\/10\.0\.0\.(\d):6379/g, (_, at) => shown[at - 1] ?? '');
  expect(script).not.toBe(page);
  const printed = runBlock(script, 'servers', { REDLOCK_CONFIG, REDLOCK_RESTART_GRACE });
  expect(printed.match(/^= \d+$/gm)).toEqual(['= 0', '= 0', '= 0', '= 0', '= 0']);
  for (const url of shown) expect(printed).toContain(url);
  expect(printed).toMatch(/^"nightly": free$/m);
  expect(printed).toMatch(/^only one of me runs$/m);
  expect(printed).toMatch(/ echo .* done$/m);
});

test('the files: three servers that keep every lock, and masters that can be read', () => {
  const [, block = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const file = readFileSync(new URL('../../compose.yaml', import.meta.url), 'utf8');
  const [compose, config] = [file, block].map((text) =>
    parseAllDocuments(text, { merge: true })[0]?.toJS(),
  );
  interface Service {
    readonly command: string;
    readonly ports: string[];
    readonly volumes: string[];
  }
  const services = Object.values<Service>(compose.services);
  expect(services).toHaveLength(3);
  // An empty folder that all share would forget or mix locks.
  const volumes = services.map((service) => service.volumes[0]);
  expect(volumes).toEqual(Object.keys(compose.volumes).map((name) => `${name}:/data`));
  for (const { command, ports } of services) {
    expect(command).toMatch(/--appendonly yes --appendfsync always .*noeviction/);
    expect(ports[0]).toMatch(/^127\.0\.0\.1:700[123]:6379$/);
  }
  for (const url of config.masters) expect(parseAddress(url).port).toBe(6379);
});
