// What the pictures show: the story of the moving one, and what `top` looks at.

import { execFile, execFileSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { eventually } from '../servers/processes.ts';
import type { Hosts } from './hosts.ts';

export const hostNames = ['web1', 'web2', 'web3'];
export const queueSize = { columns: 76, rows: 23 };
/** So high is the pane of each host; a line is between two of them. */
export const paneRows = [4, 4, 13];

/** A job of two child processes, each of which works until it is told to end. */
export const backup = {
  'backup.sh': `#!/bin/sh
echo "$(hostname): backup begins"
dump users & dump orders & wait
echo "$(hostname): backup done"
`,
  // It starts no process, which would be seen with its name for a moment.
  dump: `#!/bin/sh
: <"$STAGE/done"
`,
};

/** `atReadersPace`: with pauses in which the screen can be read. */
export async function playQueue(hosts: Hosts, atReadersPace: boolean): Promise<void> {
  const pause = (seconds: number) => sleep(atReadersPace ? seconds * 1_000 : 0);
  const mayEnd = join(hosts.folder, 'done');
  execFileSync('mkfifo', [mayEnd]);
  const run = 'redlock-run database -- backup.sh';

  await pause(1);
  await hosts.type('web1', run);
  await hosts.shows('web1', /web1: backup begins/);
  await pause(1);
  await hosts.type('web2', run);
  await hosts.shows('web2', /waiting \d+s for/);
  await pause(1);
  await hosts.type('web3', 'redlock-run -n database -- backup.sh; echo $?');
  await hosts.mark({
    web1: /web1: backup begins$/,
    web2: /waiting \d+s for [^)]*\) for \d+s$/,
    web3: /^75\nweb3\$$/m,
  });
  await pause(3.5);

  const opened = openSync(mayEnd, 'r+');
  await hosts.shows('web2', /web2: backup begins/);
  await pause(2);
  const done = { web1: /web1: backup done\nweb1\$$/, web2: /web2: backup done\nweb2\$$/ };
  await hosts.mark({ ...done, web3: /^75\nweb3\$$/m });
  closeSync(opened);
  await pause(2);

  await hosts.press('web3', 'C-l');
  await pause(0.5);
  await hosts.type('web3', `${run} &`);
  await hosts.shows('web3', /web3: backup begins/);
  await hosts.type('web3', '');
  await pause(0.5);
  await hosts.type('web3', 'pgrep -l dump');
  await hosts.shows('web3', /^\d+ dump\n\d+ dump\n/m);
  await pause(2);
  // The shell says "Killed" between two commands or at wait, but not of a job that ends just when
  // it begins to wait.
  await hosts.type('web3', 'kill -KILL %1; sleep 1; wait');
  await hosts.shows('web3', /Killed .*\nweb3\$/);
  await eventually('the job has ended', async () => !(await isRunning(hosts.folder)), 10_000);
  await pause(0.5);
  await hosts.type('web3', 'pgrep -l dump || echo "nothing is left of the job"');
  await hosts.mark({ ...done, web3: /^nothing is left of the job\nweb3\$$/m });
  await pause(1);
}

async function isRunning(folder: string): Promise<boolean> {
  return promisify(execFile)('pgrep', ['-f', `${folder}/bin/dump`]).then(
    () => true,
    () => false,
  );
}

export const topSize = { columns: 80, rows: 14 };
const job = '#!/bin/sh\nuntil [ -e "$STAGE/done" ]; do sleep 0.1; done\n';
export const jobs = { 'backup.sh': job, 'deploy.sh': job, 'import.sh': job };

/** Leaves `top` on the screen, beside runs on three hosts and a lock that a person has frozen. */
export async function playTop(hosts: Hosts): Promise<void> {
  const runs = {
    web1: ['deploy -- deploy.sh', '--slots 3 import -- import.sh'],
    web2: ['nightly -- backup.sh', 'deploy -- deploy.sh', '--slots 3 import -- import.sh'],
    web3: ['deploy -- deploy.sh'],
  };
  for (const [host, commands] of Object.entries(runs)) {
    for (const command of commands) {
      await hosts.type(host, `redlock-run ${command} &`);
      await sleep(2_000);
    }
  }
  await hosts.type('ops', 'redlockctl freeze db-migrate --note "disks are moved"');
  await hosts.shows('ops', /disks[\s\S]*ops\$ ?$/);
  await sleep(8_000);
  await hosts.showOnly('ops');
  await hosts.type('ops', 'redlockctl top');
  await hosts.shows('ops', /deploy +held .* 2 /);
  await sleep(3_000);
}
