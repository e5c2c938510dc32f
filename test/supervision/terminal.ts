// A shell in tmux: keys that are pressed, and the text on the screen. *Note:* a key goes to the
// foreground process, so a test must first see on the screen that this is the command.

import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { TestMaster } from '../servers/master.ts';
import { noConfiguration } from '../servers/no-configuration.ts';
import { eventually } from '../servers/processes.ts';
import { nodeProgram } from '../servers/run-cli.ts';
import { sharedCache } from '../servers/shared-cache.ts';
import { MARK } from '../servers/survivors.ts';
import { scratchFolder } from '../servers/watchdog.ts';

const run = promisify(execFile);
const programs = { rl: nodeProgram('redlock-run'), ctl: nodeProgram('redlockctl') };

/** null: tmux exists here. */
export const obstacle = spawnSync('tmux', ['-V']).status === 0 ? null : 'no tmux on this machine';

export class Terminal {
  readonly folder: string;
  readonly mark: string;
  readonly #socket: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.mark = folder.slice(-6);
    this.#socket = join(folder, 's');
  }

  /**
   * A shell with a prompt, in which `rl` is redlock-run and `ctl` redlockctl, with these masters.
   */
  static async open(masters: readonly TestMaster[], columns = 150): Promise<Terminal> {
    const terminal = new Terminal(mkdtempSync(join(scratchFolder(), 't-')));
    const { folder } = terminal;
    for (const [name, program] of Object.entries(programs)) {
      writeFileSync(
        join(folder, name),
        `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`,
      );
      chmodSync(join(folder, name), 0o755);
    }
    const variables = {
      PATH: `${folder}:${process.env.PATH}`,
      HOME: folder,
      PS1: 'prompt> ',
      TERM: 'screen',
      REDLOCK_MASTERS: masters.map(({ url }) => url).join(','),
      REDLOCK_RESTART_GRACE: '0',
      ...noConfiguration,
      XDG_CACHE_HOME: sharedCache(),
      [MARK]: terminal.mark,
      JOB: terminal.mark,
    };
    const args = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const shell = ['env', '-i', ...args, 'bash', '--norc', '--noprofile', '-i'];
    await terminal.#tmux(
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-x',
      String(columns),
      '-y',
      '40',
      ...shell,
    );
    await terminal.shows(/^prompt>/m);
    return terminal;
  }

  /** Types a line and presses Enter. */
  async type(line: string): Promise<void> {
    await this.#tmux('send-keys', '-l', line);
    await this.press('Enter');
  }

  /** Presses keys, as tmux calls them: C-c, C-z, Enter. */
  async press(...keys: string[]): Promise<void> {
    await this.#tmux('send-keys', ...keys);
  }

  /** The text on the screen; `-e` includes colours, as escape sequences. */
  async screen(...flags: string[]): Promise<string> {
    return (await this.#tmux('capture-pane', '-p', '-J', ...flags)).trimEnd();
  }

  /** What tmux tells of the pane under a name, such as `alternate_on`. */
  async ask(name: string): Promise<string> {
    return (await this.#tmux('display-message', '-p', `#{${name}}`)).trim();
  }

  /** Waits until the screen shows this. */
  async shows(pattern: RegExp, timeoutMs = 15_000): Promise<string> {
    let last = '';
    const look = async () => {
      last = await this.screen();
      if (pattern.test(last)) return last;
      await sleep(50); // Each look is a process.
      return null;
    };
    return eventually(`the screen shows ${pattern}`, look, timeoutMs).catch((error) => {
      throw new Error(`${error.message}:\n${last}`);
    });
  }

  async close(): Promise<void> {
    await this.#tmux('kill-server').catch(() => {});
  }

  async #tmux(...args: string[]): Promise<string> {
    return (await run('tmux', ['-S', this.#socket, ...args])).stdout;
  }
}
