// What a program names its masters by: URLs, or clients of ioredis, of which no more is looked at than stands here.
// Any version from 4 on has this shape, so the library needs no package of its own. The surprise: `call` is here only to tell
// it from clients of other packages, which can be duplicated as well but speak another language.

/** A client of ioredis 4 or newer. It is never used, connected or closed: its twins are. */
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

/** `redis://[user[:password]@]host[:port][/db]`, `rediss://`, `unix:///path`, or a client of ioredis. */
export type MasterSource = string | IoredisClient;
