// The types of the library, as a program uses them. tsc checks them (`npm run check`, and on the
// packed package in package.test.ts); the tests here only run the lines.

import type { Redis } from 'ioredis';
import type { Redis as Redis5 } from 'ioredis-5';
import { expectTypeOf, test } from 'vitest';
import {
  type AcquireOptions,
  type ErrorKind,
  type Lease,
  type LockEvent,
  type MasterSource,
  Redlock,
  type RedlockError,
  type RedlockOptions,
  type Resources,
} from '../../src/index.ts';

test('masters are URLs and clients of ioredis, and nothing that merely looks like them', () => {
  expectTypeOf<string>().toExtend<MasterSource>();
  expectTypeOf<Redis>().toExtend<MasterSource>();
  expectTypeOf<Redis5>().toExtend<MasterSource>();
  expectTypeOf<URL>().not.toExtend<MasterSource>();
  expectTypeOf<{ duplicate(): object; sendCommand(): unknown }>().not.toExtend<MasterSource>();
  expectTypeOf(Redlock).toBeConstructibleWith(['redis://a', 'redis://b'], { prefix: '' });
});

test('using returns the result of its function, async or not', () => {
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
  // @ts-expect-error keepAlive cannot be switched off in `using`.
  () => redlock.using('a', 1_000, { keepAlive: false }, () => {});
  // @ts-expect-error Options of the Redlock are not options of a call.
  () => redlock.acquire('a', 1_000, { prefix: '' });
});

test('a call locks one resource or several, in one of the forms', () => {
  const redlock = new Redlock(['redis://10.0.0.1']);
  expectTypeOf(redlock.acquire).parameter(0).toEqualTypeOf<string | readonly string[]>();
  expectTypeOf(redlock.acquire).parameter(0).toEqualTypeOf<Resources>();
  const text = () =>
    redlock.using(['a', 'b'], 1_000, { shared: true }, (_signal, { resources }) =>
      resources.join(),
    );
  expectTypeOf(text).returns.toEqualTypeOf<Promise<string>>();
  expectTypeOf<{ shared: true }>().toExtend<AcquireOptions>();
  expectTypeOf<{ slots: 3; supersede: undefined }>().toExtend<AcquireOptions>();
  // @ts-expect-error A resource is a string.
  () => redlock.acquire(['a', 1], 1_000);
  // @ts-expect-error slots is a number.
  () => redlock.acquire('a', 1_000, { slots: '3' });
  // @ts-expect-error The form is not an option for all locks.
  () => new Redlock(['redis://10.0.0.1'], { shared: true });
  // @ts-expect-error The library cannot replace a holder.
  () => redlock.acquire('a', 1_000, { replace: true });
});

test('a lease has these members, and can be disposed of', () => {
  expectTypeOf<Lease>().toExtend<AsyncDisposable>();
  expectTypeOf<Redlock>().toExtend<AsyncDisposable>();
  expectTypeOf<Lease['resource']>().toEqualTypeOf<string>();
  expectTypeOf<Lease['resources']>().toEqualTypeOf<readonly string[]>();
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
      case 'superseded':
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
  expectTypeOf<Extract<LockEvent, { kind: 'waiting' }>['position']>().toEqualTypeOf<
    number | null
  >();
  expectTypeOf<NonNullable<RedlockOptions['onEvent']>>().parameters.toEqualTypeOf<
    [LockEvent, string, readonly string[]]
  >();
});

test('options may be left out and may be undefined', () => {
  expectTypeOf<{
    waitMs: undefined;
    retries: { count: 3; delayMs: undefined };
  }>().toExtend<AcquireOptions>();
  expectTypeOf<{
    retries: { count: 1; delayMs: (attemptCount: number) => number };
  }>().toExtend<AcquireOptions>();
  expectTypeOf<{ retries: { delayMs: 1 } }>().not.toExtend<AcquireOptions>();
});
