// Shells on hosts of their own, in panes of one tmux, recorded as an asciicast. Each host has its
// own name and its own processes (namespaces of Linux), so that what people see is what happened.
// *Note:* all of them use the same masters and files.

import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { eventually } from '../servers/processes.ts';
import { nodeProgram } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import type { Cast, Moment } from './cast.ts';

const run = promisify(execFile);

const isRoot = process.getuid?.() === 0;
const namespaces = [
  ...(isRoot ? [] : ['--map-root-user']),
  ...['--uts', '--pid', '--mount', '--fork', '--mount-proc', '--kill-child'],
];

/** null: hosts can be played on this machine. */
export const obstacle = obstacleHere();

function obstacleHere(): string | null {
  const has = (program: string, ...args: string[]) => spawnSync(program, args).status === 0;
  if (!has('tmux', '-V')) return 'no tmux on this machine';
  if (!has('script', '--version')) return 'no script(1) on this machine';
  return has('unshare', ...namespaces, 'hostname', 'h') ? null : 'no namespaces on this machine';
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

export class Hosts {
  readonly folder: string;
  readonly #socket: string;
  readonly #names: readonly string[];
  #startedAt = 0;
  readonly #marks: Moment[] = [];
  readonly #msPerWord: number;

  private constructor(folder: string, names: readonly string[], msPerWord: number) {
    this.folder = folder;
    this.#socket = join(folder, 's');
    this.#names = names;
    this.#msPerWord = msPerWord;
  }

  /** A pane for each host, one above the other; `files` are programs on their PATH. */
  static async open(
    names: readonly string[],
    { columns, rows }: Size,
    env: Readonly<Record<string, string>>,
    files: Readonly<Record<string, string>>,
    msPerWord: number,
    paneRows: readonly number[],
  ): Promise<Hosts> {
    const hosts = new Hosts(mkdtempSync(join(scratchFolder(), 'h-')), names, msPerWord);
    const { folder } = hosts;
    mkdirSync(join(folder, 'bin'));
    const programs = ['redlock-run', 'redlockctl'].map((name) => [
      name,
      `#!/bin/sh\nexec '${process.execPath}' '${nodeProgram(name)}' "$@"\n`,
    ]);
    for (const [name, text] of [...programs, ...Object.entries(files)]) {
      writeFileSync(join(folder, 'bin', name ?? ''), text ?? '');
      chmodSync(join(folder, 'bin', name ?? ''), 0o755);
    }
    writeFileSync(join(folder, 'passwd'), 'ops:x:0:0::/:/bin/sh\n');
    writeFileSync(join(folder, 'tmux.conf'), tmuxSettings);
    for (const [at, name] of names.entries())
      await hosts.#openPane(name, at, { columns, rows }, env);
    for (const [pane, height] of paneRows.entries())
      await hosts.#tmux('resize-pane', '-t', String(pane), '-y', String(height));
    await hosts.#record({ columns, rows });
    for (const name of names) await hosts.shows(name, /\$ ?$/);
    return hosts;
  }

  async #openPane(name: string, at: number, size: Size, env: Readonly<Record<string, string>>) {
    const variables = {
      PATH: `${join(this.folder, 'bin')}:${process.env.PATH}`,
      HOME: this.folder,
      PS1: `${name}$ `,
      TERM: 'screen-256color',
      TZ: 'UTC',
      STAGE: this.folder,
      ...env,
    };
    const words = Object.entries(variables).map(([key, value]) => `${key}=${value}`);
    const inside =
      `hostname ${name} && mount --bind "$0/passwd" /etc/passwd && cd "$0" && ` +
      // Process ids of as many digits as on a machine that has run for a while.
      `echo ${4_700 + 100 * at} >/proc/sys/kernel/ns_last_pid; exec "$@"`;
    const shell = ['env', '-i', ...words, 'bash', '--norc', '--noprofile', '-i'];
    const host = ['unshare', ...namespaces, 'sh', '-c', inside, this.folder, ...shell];
    const first = ['new-session', '-d', '-x', `${size.columns}`, '-y', `${size.rows}`];
    await this.#tmux(...(at === 0 ? first : ['split-window', '-v']), ...host);
    await this.#tmux('select-layout', 'even-vertical');
  }

  /** All that a terminal of this size is sent from now on. */
  async #record({ columns, rows }: Size): Promise<void> {
    const attach = `stty columns ${columns} rows ${rows}; exec tmux -S '${this.#socket}' attach`;
    const files = [
      '--log-out',
      join(this.folder, 'out'),
      '--log-timing',
      join(this.folder, 'time'),
    ];
    const words = ['--quiet', '--flush', ...files, '--command', attach];
    const env = { PATH: process.env.PATH, TERM: 'xterm-256color', LC_ALL: 'C.UTF-8' };
    this.#startedAt = performance.now();
    const child = spawn('script', words, { env, stdio: ['pipe', 'ignore', 'inherit'] });
    this.#closed = once(child, 'close');
    const isAttached = async () => (await this.#tmux('list-clients')) !== '';
    await eventually('a terminal', isAttached);
  }
  #closed: Promise<unknown> = Promise.resolve();

  /** Types a line on a host as a person does, and presses Enter. */
  async type(host: string, line: string): Promise<void> {
    const pane = this.#paneOf(host);
    await this.#tmux('select-pane', '-t', pane);
    for (const word of line.split(/(?= )/)) {
      // tmux takes a semicolon at the end of a word as its own.
      await this.#tmux('send-keys', '-t', pane, '-l', word.replace(/;$/, '\\;'));
      await sleep(this.#msPerWord);
    }
    await sleep(2 * this.#msPerWord);
    await this.#tmux('send-keys', '-t', pane, 'Enter');
  }

  /** Presses a key, as tmux calls it: C-l. */
  async press(host: string, key: string): Promise<void> {
    await this.#tmux('send-keys', '-t', this.#paneOf(host), key);
  }

  /** From now on only the pane of this host is seen. */
  async showOnly(host: string): Promise<void> {
    await this.#tmux('resize-pane', '-Z', '-t', this.#paneOf(host));
  }

  /** Waits until the pane of a host shows this; the text of the pane. */
  async shows(host: string, pattern: RegExp): Promise<string> {
    let last = '';
    const look = async () => {
      last = (await this.#textOf(host)).trimEnd();
      return pattern.test(last);
    };
    await eventually(`${host} shows ${pattern}`, look, 20_000).catch((error) => {
      throw new Error(`${error.message}:\n${last}`);
    });
    return last;
  }

  /** What the panes show once each shows this is one of the texts that are compared. */
  async mark(patterns: Readonly<Record<string, RegExp>>): Promise<void> {
    const waits = Object.entries(patterns).map(([host, pattern]) => this.shows(host, pattern));
    const panes = await Promise.all(waits);
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    this.#marks.push({ seconds, text: panes.join('\n---\n') });
  }

  /** Ends all hosts. */
  async close({ columns, rows }: Size): Promise<Cast> {
    await this.#tmux('kill-server').catch(() => {});
    await this.#closed;
    const bytes = readFileSync(join(this.folder, 'out'));
    const lines = readFileSync(join(this.folder, 'time'), 'utf8').trim().split('\n');
    // The first line of the file is script's own.
    let at = bytes.indexOf('\n') + 1;
    let seconds = 0;
    const events = lines.map((line) => {
      const [delay = 0, length = 0] = line.split(' ').map(Number);
      seconds += delay;
      at += length;
      return { seconds, text: bytes.subarray(at - length, at).toString() };
    });
    // The end of tmux itself is not to be seen.
    const end = events.findIndex(({ text }) => text.includes('\x1b[?1049l'));
    return { columns, rows, events: events.slice(0, end), marks: this.#marks };
  }

  #textOf(host: string): Promise<string> {
    return this.#tmux('capture-pane', '-p', '-J', '-t', this.#paneOf(host));
  }

  #paneOf(host: string): string {
    return String(this.#names.indexOf(host));
  }

  async #tmux(...args: string[]): Promise<string> {
    const words = ['-S', this.#socket, '-f', join(this.folder, 'tmux.conf'), ...args];
    return (await run('tmux', words, { env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } }))
      .stdout;
  }
}

const tmuxSettings = `set -g status off
set -g pane-border-style fg=colour8
set -g pane-active-border-style fg=colour8
set -g escape-time 0
`;
