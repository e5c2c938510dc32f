// What the compiler says to a program that uses the library. Checked by tsc (`npm run check`, and on the packed package in
// package.test.ts); what runs here shows that the lines compile to something.

import type { Redis } from 'ioredis';
import type { Redis as Redis5 } from 'ioredis-5';
import { expectTypeOf, test } from 'vitest';
import type { AcquireOptions, ErrorKind, Lease, LockEvent, MasterSource, RedlockOptions } from '../../src/library.ts';
import { Redlock, type RedlockError } from '../../src/library.ts';

test('masters are URLs and clients of ioredis, and nothing that merely looks like them', () => {
  expectTypeOf<string>().toExtend<MasterSource>();
  expectTypeOf<Redis>().toExtend<MasterSource>();
  expectTypeOf<Redis5>().toExtend<MasterSource>();
  expectTypeOf<URL>().not.toExtend<MasterSource>();
  expectTypeOf<{ duplicate(): object; sendCommand(): unknown }>().not.toExtend<MasterSource>();
  expectTypeOf(Redlock).toBeConstructibleWith(['redis://a', 'redis://b'], { prefix: '' });
});

test('using gives what its function gives, whether it is async or not', () => {
  const redlock = new Redlock(['redis://10.0.0.1']);
  const { using, acquire } = redlock;
  expectTypeOf(acquire).returns.toEqualTypeOf<Promise<Lease>>();
  const text = () => redlock.using('a', 1_000, async () => 'text');
  expectTypeOf(text).returns.toEqualTypeOf<Promise<string>>();
  const count = () => redlock.using('a', 1_000, { waitMs: 0 }, () => 1);
  expectTypeOf(count).returns.toEqualTypeOf<Promise<number>>();
  expectTypeOf(using<void>)
    .parameter(2)
    .toExtend<object>();
  // @ts-expect-error A time to live is a number.
  () => redlock.acquire('a', '1s');
  // @ts-expect-error What keeps a lock alive in `using` cannot be switched off.
  () => redlock.using('a', 1_000, { keepAlive: false }, () => {});
  // @ts-expect-error Options of the Redlock are not options of a call.
  () => redlock.acquire('a', 1_000, { prefix: '' });
});

test('a lease is what it says, and can be disposed of', () => {
  expectTypeOf<Lease>().toExtend<AsyncDisposable>();
  expectTypeOf<Redlock>().toExtend<AsyncDisposable>();
  expectTypeOf<Lease['fence']>().toEqualTypeOf<number | null>();
  expectTypeOf<Lease['release']>().returns.resolves.toEqualTypeOf<boolean>();
  expectTypeOf<Lease['extend']>().parameters.toEqualTypeOf<[]>();
  expectTypeOf<Lease['signal']>().toEqualTypeOf<AbortSignal>();
  expectTypeOf<Lease>().toHaveProperty('validMs').toEqualTypeOf<number>();
});

test('kinds of errors and events can be told apart completely', () => {
  expectTypeOf<RedlockError['kind']>().toEqualTypeOf<ErrorKind>();
  const wordFor = (kind: ErrorKind): string => {
    switch (kind) {
      case 'busy':
      case 'unreachable':
      case 'too-slow':
      case 'misconfigured':
      case 'aborted':
      case 'lost':
      case 'usage':
        return kind;
    }
  };
  expectTypeOf(wordFor).returns.toBeString();
  expectTypeOf<Extract<LockEvent, { kind: 'waiting' }>['place']>().toEqualTypeOf<number | null>();
  expectTypeOf<NonNullable<RedlockOptions['onEvent']>>().parameters.toEqualTypeOf<[LockEvent, string]>();
});

test('options may be left out and may be undefined', () => {
  expectTypeOf<{ waitMs: undefined; retries: { count: 3; delayMs: undefined } }>().toExtend<AcquireOptions>();
  expectTypeOf<{ retries: { count: 1; delayMs: (attemptCount: number) => number } }>().toExtend<AcquireOptions>();
  expectTypeOf<{ retries: { delayMs: 1 } }>().not.toExtend<AcquireOptions>();
});
