// A master of a cell: a real server, of a kind that decides which faults can happen to it.

import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { ServerProgram } from '../../src/local/server-program.ts';
import { TestMaster } from '../servers/master.ts';
import type { Means } from './means.ts';

/**
 * forgets: comes back empty after SIGKILL. keeps: writes every change to the disk at once.
 * small-disk: its disk can be full; comes back empty. clock: its time of day can be set.
 */
export type MasterKind = 'forgets' | 'keeps' | 'small-disk' | 'clock';

const diskBytes = 16 * 1024 * 1024;

export class CellMaster {
  readonly name: string;
  readonly kind: MasterKind;
  readonly server: TestMaster;
  /** A fault is going on. */
  isTaken = false;
  readonly #folder: string;

  private constructor(name: string, kind: MasterKind, server: TestMaster, folder: string) {
    this.name = name;
    this.kind = kind;
    this.server = server;
    this.#folder = folder;
  }

  /** Starts a server with its files in a new folder beside `folder`/name. */
  static async start(
    name: string,
    kind: MasterKind,
    folder: string,
    program: ServerProgram,
    { clock }: Means,
  ): Promise<CellMaster> {
    const own = join(folder, `${name}-files`);
    mkdirSync(join(own, 'disk'), { recursive: true });
    const directory = join(folder, name);
    const start = (options: object, wrapped = program) =>
      TestMaster.start(name, directory, wrapped, options);
    const master = (server: TestMaster) => new CellMaster(name, kind, server, own);
    if (kind === 'keeps') {
      const server = await start({ persist: true });
      await server.markLongAgo('redlock:');
      return master(server);
    }
    if (kind === 'small-disk') {
      const config = { dir: join(own, 'disk'), appendonly: 'yes', appendfsync: 'everysec' };
      return master(await start({ config }, onSmallDisk(program, own)));
    }
    if (kind === 'clock') {
      const time = join(own, 'time');
      writeFileSync(time, microseconds(0));
      const preloaded = { LD_PRELOAD: clock ?? '', TORTURE_CLOCK: time };
      const environment = { ...program.environment, ...preloaded };
      return master(await start({}, { ...program, environment }));
    }
    return master(await start({}));
  }

  /** Sets its time of day to so many seconds after the real one. */
  setClock(offsetSeconds: number): void {
    // In its place: the server has the file in its memory.
    const file = openSync(join(this.#folder, 'time'), 'r+');
    writeSync(file, microseconds(offsetSeconds), 0, 8, 0);
    closeSync(file);
  }

  /** No byte can be written to its disk from now on. */
  fillDisk(): void {
    try {
      writeFileSync(this.#ballast, Buffer.alloc(diskBytes));
    } catch {
      // ENOSPC: as far as there was room.
    }
  }

  emptyDisk(): void {
    rmSync(this.#ballast, { force: true });
  }

  /** As the process sees it: the disk exists only in its own mount namespace. */
  get #ballast(): string {
    return join(`/proc/${this.server.pid}/root`, this.#folder, 'disk', 'ballast');
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function microseconds(seconds: number): BigInt64Array {
  return new BigInt64Array([BigInt(Math.round(seconds * 1e6))]);
}

/** The server in a mount namespace of its own, which ends with it, and the small disk as well. */
function onSmallDisk({ path, argv0, environment }: ServerProgram, own: string): ServerProgram {
  // Which server it is follows from the name that it is called by.
  const named = join(own, argv0);
  symlinkSync(path, named);
  const script = join(own, 'on-small-disk');
  const mount = `mount -t tmpfs -o size=${diskBytes} tmpfs '${join(own, 'disk')}'`;
  const words = `unshare --mount sh -c "${mount} && exec '${named}' \\"\\$@\\"" sh "$@"`;
  writeFileSync(script, `#!/bin/sh\nexec ${words}\n`);
  chmodSync(script, 0o700);
  return { path: script, argv0: script, environment };
}
