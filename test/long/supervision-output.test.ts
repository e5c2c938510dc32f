// Two gigabytes through the command's stdout, and two through its stdin: all arrive, and the lock
// is extended meanwhile. How long that takes, and without redlock-run, is printed and not judged.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { noConfiguration } from '../servers/no-configuration.ts';
import { nodeProgram } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { sharedMasters } from '../supervision/rig.ts';

const program = nodeProgram('redlock-run');
const source = 'head -c 2147483648 /dev/zero';

it.each([
  ['out', `rl -v --ttl 3s -k 200ms big -- ${source} | cat | wc -c`],
  ['in', `${source} | rl -v --ttl 3s -k 200ms big -- cat | wc -c`],
])('2 GB %s', async (title, line) => {
  const alone = await time(`${source} | cat | wc -c`);
  const ours = await time(line);
  expect(ours.stdout).toBe('2147483648\n');
  expect(ours.stderr).not.toMatch(/not extended|lost:/);
  process.stderr.write(
    `  ${title}: ${Math.round(ours.elapsedMs)} ms, ${Math.round(alone.elapsedMs)} ms without us\n`,
  );
});

async function time(line: string) {
  const urls = (await sharedMasters()).map(({ url }) => url).join(',');
  const home = mkdtempSync(join(scratchFolder(), 'output-'));
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    REDLOCK_MASTERS: urls,
    REDLOCK_RESTART_GRACE: '0',
    ...noConfiguration,
  };
  const startedAt = performance.now();
  const child = spawn(
    'bash',
    ['-c', `rl() { "${process.execPath}" "${program}" "$@"; }; ${line}`],
    { env, cwd: home },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  await once(child, 'close');
  return { stdout, stderr, elapsedMs: performance.now() - startedAt };
}
