// The story of a night in docs/operations.md, command by command: what each prints, but for times,
// durations, hosts and processes.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { countOf, environmentFor, useMasters } from '../cli/rig.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');
const programs = fileURLToPath(new URL('../../bin/', import.meta.url));
const { masters } = useMasters(3);

/** What is the same in every night. */
function masked(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+Z)?/g, 'TIME')
    .replace(/\b(?:uid )?\S+@\S+(,? \(?(pid )?\d+\)?)?/g, 'PERSON')
    .replace(/\bpid \d+/g, 'PID')
    .replace(/\b(\d+(\.\d+)?(ms|s|m|h))+\b/g, 'DURATION')
    .replace(/ +/g, ' ')
    .trim();
}

test('the story of a night', async () => {
  const [, story = ''] = /transcript:night -->\n```console\n([\s\S]*?)```/.exec(page) ?? [];
  const folder = mkdtempSync(join(scratchFolder(), 'night-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const position = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  for (const name of ['redlock-run', 'redlockctl'])
    position(name, `exec '${process.execPath}' '${programs}${name}.js' "$@"`);
  position('backup', 'echo backed up');
  position('restore.sh', 'exec sleep 60');
  const env = { ...environmentFor(masters), PATH: `${bin}:${process.env.PATH}`, HOME: folder };
  const options = { cwd: folder, env: { ...env, TZ: 'UTC' }, encoding: 'utf8' } as const;
  const steps = story.split(/^\$ /m).slice(1);
  expect(steps).toHaveLength(10);
  for (const step of steps) {
    const [command = '', ...lines] = step.split('\n');
    if (command.endsWith('&')) {
      spawn('sh', ['-c', command.slice(0, -1)], { ...options, stdio: 'ignore' });
      await expect.poll(() => countOf(masters, 'nightly-backup')).toBe(3);
      continue;
    }
    // The holder tells of its end after the release, which is all that a stop waits for.
    const [, file] = /^cat (\S+)$/.exec(command) ?? [];
    if (file) await expect.poll(() => readFileSync(join(folder, file), 'utf8')).not.toBe('');
    const { stdout } = spawnSync('sh', ['-c', `{ ${command}; } 2>&1`], options);
    expect(masked(stdout), command).toBe(masked(lines.join('\n')));
  }
});
