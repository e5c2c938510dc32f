// Why the local masters cannot be used: one line `local masters: which: why (what to do)`.

export class LocalError extends Error {
  override readonly name = 'LocalError';
  /** 78 when the operator must change something, 69 when it may work another time. */
  readonly exitCode: 69 | 78;

  constructor(exitCode: 69 | 78, which: string, why: string, whatToDo: string) {
    super(`local masters: ${which}: ${why} (${whatToDo})`);
    this.exitCode = exitCode;
  }
}

/** Uses the folder of the local masters. Throws what node:fs throws as a LocalError. */
export function onDisk<Result>(directory: string, use: () => Result): Result {
  try {
    return use();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new LocalError(78, directory, `cannot be used: ${code}`, 'name another localDirectory');
  }
}
