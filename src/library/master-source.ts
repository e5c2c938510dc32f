// The forms in which a program names its masters: URLs, or clients of ioredis. The type has only
// the members that the library uses, which every version from 4 on has, so that the library does
// not depend on the package. `call` tells these clients from those of other packages, which have
// `duplicate` as well.

/**
 * A client of ioredis 4 or newer. The library never uses, connects or closes it, only duplicates.
 */
export interface IoredisClient {
  readonly options: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly path?: string | undefined;
    readonly db?: number | undefined;
  };
  duplicate(override: object): object;
  call(command: string, ...words: string[]): Promise<unknown>;
}

/**
 * `redis://[user[:password]@]host[:port][/db]`, `rediss://`, `unix:///path`,
 * `redis+sentinel://[user[:password]@]host:port,host:port/NAME[/db]`, or a client of ioredis.
 */
export type MasterSource = string | IoredisClient;
