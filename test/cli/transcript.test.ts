// Runs transcript.txt: each line that begins with $ goes to a shell, all in one folder, with
// redlock-run on the PATH. Its output on both streams follows, and the exit status where it is not
// 0. Parts that differ from run to run are in capitals (HOST, PID, TIME). Run with -u to write the
// transcript again, and then read it.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { userName } from '../../src/system/caller.ts';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { environmentFor, interpreter, program, useMasters } from './rig.ts';

const { masters } = useMasters(3);
const transcript = fileURLToPath(new URL('./transcript.txt', import.meta.url));

/** A shell with redlock-run on its PATH, in a folder of its own. */
function shell() {
  const folder = mkdtempSync(join(scratchFolder(), 'transcript-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'redlock-run'), `#!/bin/sh\nexec '${interpreter}' '${program}' "$@"\n`);
  chmodSync(join(bin, 'redlock-run'), 0o755);
  // The search for a configuration ends here at the latest.
  const settled = join(folder, '.config/redlock-run');
  mkdirSync(settled, { recursive: true });
  writeFileSync(join(settled, 'config.yaml'), '');
  const searching = { ...environmentFor(masters), REDLOCK_CONFIG: '' };
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, ...searching };
  return (line: string) => {
    const { stdout, status } = spawnSync('bash', ['-c', `exec 2>&1; ${line}`], {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: generous(20_000),
    });
    const end = status === 0 ? '' : `[exit status ${status}]\n`;
    return normalised(stdout.replaceAll(folder, 'HOME')) + end;
  };
}

/** The text with what differs from run to run in capitals. */
function normalised(text: string): string {
  const named = masters.reduce(
    (line, { url }, index) => line.replaceAll(url, `MASTER${index + 1}`),
    text,
  );
  return (
    named
      .replaceAll(`${userName()}@${os.hostname()}`, 'USER@HOST')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/\bpid \d+/g, 'pid PID')
      .replace(/\b\d{16}\b/g, 'FENCE')
      .replace(
        /(ends in|in|waiting|\) for|for another|after|within|proven for) [\d.]+m?s\b/g,
        '$1 SPAN',
      )
      .replace(/\bon \d masters?\b/g, 'on N masters')
      // Printed only where the fencing counters of the masters differ.
      .replace(/^redlock-run: fence: .*\n/gm, '')
      // Printed only where the machine let the program wait between two clocks that it reads.
      .replace(/^redlock-run: clock: this machine: .*\n/gm, '')
      .replace(/("(?:waitMs|runMs)":)\d+/g, '$1MS')
      .replace(/redlock-run \d+\.\d+\.\d+/g, 'redlock-run VERSION')
  );
}

test('the transcript is what happens', async () => {
  const run = shell();
  const before = readFileSync(transcript, 'utf8');
  const after = before
    .split(/^(?=#|\$ )/m)
    .map((part) => {
      const [first = ''] = part.split('\n');
      if (!first.startsWith('$ ')) return part;
      const gap = part.endsWith('\n\n') ? '\n' : '';
      return `${first}\n${run(first.slice(2))}${gap}`;
    })
    .join('');
  await expect(after).toMatchFileSnapshot(transcript);
});
