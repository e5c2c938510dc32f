// Masters behind a slow network: starts peers/delay.ts in front of them and returns the addresses
// to use instead.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { dieWithUs, forget, scratchFolder } from '../servers/watchdog.ts';

export interface Delay {
  readonly urls: readonly string[];
  stop(): void;
}

let count = 0;

/** `delayMs` is added to every round trip. */
export async function startDelay(urls: readonly string[], delayMs: number): Promise<Delay> {
  const paths = urls.map(() => {
    count += 1;
    return path.join(scratchFolder(), `far${count}`);
  });
  const program = fileURLToPath(new URL('peers/delay.js', import.meta.url));
  const pairs = urls.flatMap((url, index) => [url.replace('unix://', ''), paths[index] ?? '']);
  const child = spawn(process.execPath, [program, String(delayMs), ...pairs], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { pid } = child;
  if (pid !== undefined) dieWithUs(pid);
  await once(child.stdout, 'data');
  const stop = () => {
    if (pid !== undefined) forget(pid);
    child.kill('SIGKILL');
  };
  return { urls: paths.map((file) => `unix://${file}`), stop };
}
