// What a job of no length at all costs: the whole program, from start to exit, against an empty Node program.

import { spawn } from 'node:child_process';
import path from 'node:path';
import { inTurns } from './rounds.ts';

/** The checkout; the benchmark is compiled into a folder below it. */
const bin = path.resolve('bin/redlock-run.js');
const roundCount = 20;

export function startup(masters: readonly string[]) {
  const ours = [bin, ...masters.flatMap((url) => ['--master', url]), 'bench', '--', 'true'];
  return inTurns(
    [
      { name: 'node -e 0', measure: () => timeOf(['-e', '0']) },
      { name: 'redlock-run --version', measure: () => timeOf([bin, '--version']) },
      { name: 'redlock-run bench -- true', measure: () => timeOf(ours) },
    ],
    roundCount,
  );
}

function timeOf(words: readonly string[]): Promise<number> {
  // Reading extra certificates would be measured instead of us.
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env;
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, {
      stdio: 'ignore',
      env: { ...environment, REDLOCK_RESTART_GRACE: '0' },
    });
    child.once('exit', (code) => {
      if (code === 0) resolve(performance.now() - startedAt);
      else reject(new Error(`${words.join(' ')} exited with ${code}`));
    });
  });
}
