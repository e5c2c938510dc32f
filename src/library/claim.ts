// The claims of the library, made here and nowhere else: a form, a value that nobody else has, and how long. The surprise: a
// program may bring its own tokens, but never the same one twice, because what is still under way of an earlier attempt would give
// back the later one.

import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { basename } from 'node:path';
import type { Claim } from '../lock/types.ts';
import { newClaim, waiterIdOf } from '../lock/value.ts';
import { userName } from '../system/user.ts';
import { usageError } from './complaint.ts';
import type { Form } from './form.ts';

export interface Wish {
  readonly form: Form;
  readonly ttlMs: number;
  readonly isFenced: boolean;
  /** null: the name of the program. */
  readonly label: string | null;
}

export class Claims {
  readonly #newToken: () => string;
  #lastToken = '';

  constructor(newToken: () => string = () => randomBytes(20).toString('base64url')) {
    this.#newToken = newToken;
  }

  /** @throws RedlockError `usage` when the program's own tokens will not do */
  next({ form, ttlMs, isFenced, label }: Wish): Claim {
    const note = {
      host: os.hostname(),
      pid: process.pid,
      user: userName(),
      since: new Date().toISOString(),
      label: label ?? basename(process.argv[1] ?? process.execPath),
    };
    return newClaim({ ...form, ttlMs, isFenced }, this.#token(), note);
  }

  /** A name in the queue, new at every call. */
  waiterId(form: Form): string {
    return waiterIdOf(form, randomBytes(12).toString('hex'), `${process.pid}@${os.hostname()}`);
  }

  #token(): string {
    const token: unknown = this.#newToken();
    if (typeof token !== 'string' || !/^\S{8,200}$/.test(token)) {
      throw usageError(
        'newToken: its token will not do (return 8 to 200 characters without white space)',
      );
    }
    if (token === this.#lastToken) {
      throw usageError('newToken: the same token twice in a row (return a new one at every call)');
    }
    this.#lastToken = token;
    return token;
  }
}
