// The library: everything that `import ... from 'redlock-run'` exports. There is no default export,
// because the ways to import one differ between module systems and bundlers.

export {
  type ErrorKind,
  type LostReason,
  RedlockError,
} from './library/error.ts';
export type { Lease } from './library/lease.ts';
export type {
  AcquireOptions,
  IoredisClient,
  LockOptions,
  MasterSource,
  RedlockOptions,
  Resources,
  RetryOptions,
} from './library/options.ts';
export { Redlock, type Routine } from './library/redlock.ts';
export type { LockEvent } from './lock/ports.ts';
export type { MasterFailure } from './lock/types.ts';
