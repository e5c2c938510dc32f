// The runner of GitHub as the action sees it: its variables and files, and the two steps of a job.

import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach } from 'vitest';
import { parse } from 'yaml';
import { environmentFor } from '../cli/rig.ts';
import type { TestMaster } from '../servers/masters.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const root = join(import.meta.dirname, '../..');
export const action = parse(readFileSync(join(root, 'action.yml'), 'utf8'));

/** A runner for each test of a file; the action installs what stands at `url`. */
export function useRunner(masters: readonly TestMaster[], url: string) {
  let temporary: string;
  let actionFolder: string;

  beforeAll(() => {
    // As the release commits it: with the checksums of its files.
    actionFolder = mkdtempSync(join(scratchFolder(), 'action-'));
    for (const file of ['action.yml', 'package.json', 'packaging'])
      cpSync(join(root, file), join(actionFolder, file), { recursive: true });
    const sums = join(process.env.RELEASE_DIR ?? '', 'SHA256SUMS');
    cpSync(sums, join(actionFolder, 'packaging/action/SHA256SUMS'));
  });

  beforeEach(() => {
    temporary = mkdtempSync(join(scratchFolder(), 'runner-'));
    for (const name of ['GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_PATH'])
      writeFileSync(join(temporary, name), '');
  });

  /** What a runner sets; `inputs` as in `with:`, `state` as the main step has left it. */
  function environment(inputs: Record<string, string>, state: Record<string, string> = {}) {
    const given = Object.keys(action.inputs).map((name) => [
      `INPUT_${name.toUpperCase()}`,
      inputs[name] ?? '',
    ]);
    const kept = Object.entries(state).map(([name, value]) => [`STATE_${name}`, value]);
    const files = ['GITHUB_OUTPUT', 'GITHUB_STATE', 'GITHUB_PATH'].map((name) => [
      name,
      join(temporary, name),
    ]);
    return {
      PATH: process.env.PATH,
      HOME: temporary,
      RUNNER_TEMP: temporary,
      ...environmentFor(masters),
      ...Object.fromEntries([...given, ...kept, ...files]),
      INPUT_URL: url,
    };
  }

  const start = (step: 'main' | 'post', env: NodeJS.ProcessEnv, before: string[] = []) => {
    const file = join(actionFolder, action.runs[step]);
    const [program = '', ...args] = [...before, process.execPath, file];
    const child = spawn(program, args, { env });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text) => {
        said += text;
      });
    const ended = new Promise<{ code: number | null; said: string }>((resolve) =>
      child.once('close', (code) => resolve({ code, said })),
    );
    return { child, ended };
  };

  /** What a step has written for the runner. */
  const written = (name: string): Record<string, string> =>
    Object.fromEntries(
      [
        ...readFileSync(join(temporary, name), 'utf8').matchAll(/^(\w+)<<(\S+)\n([\s\S]*?)\n\2$/gm),
      ].map(([, key, , value]) => [key, value]),
    );

  return { start, environment, written, temporary: () => temporary };
}
