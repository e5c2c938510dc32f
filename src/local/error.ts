// Why the local masters cannot be used: one line `what: which: why (what to do)` and an exit code.
// A machine without a server program is 69 (whether the lock is held is unknown), not 78: the
// command line was right.

/** The local masters cannot be used. Thrown by everything in this folder. */
export class LocalError extends Error {
  override readonly name: string = 'LocalError';
  /** 78 when a person must change something, 69 when it may work another time. */
  readonly exitCode: 69 | 78;

  constructor(exitCode: 69 | 78, which: string, why: string, whatToDo: string) {
    super(`local masters: ${which}: ${why} (${whatToDo})`);
    this.exitCode = exitCode;
  }
}

/** Uses the folder of the local masters: what node:fs throws is told as an error of this folder. */
export function onDisk<Result>(directory: string, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new LocalError(78, directory, `cannot be used: ${code}`, 'name another localDirectory');
  }
}

/** No redis-server and no valkey-server on this machine. */
export class NoServerProgram extends LocalError {
  override readonly name = 'NoServerProgram';

  constructor() {
    const whatToDo =
      'install one, such as `apt-get install redis-server`, or name your own masters with --master';
    super(69, 'redis-server or valkey-server', 'not found on PATH', whatToDo);
  }
}
