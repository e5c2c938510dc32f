// Makes the claims of the library: a form of lock, a unique value, a ttl. *Invariant:* a program
// may bring its own tokens, but never the same one twice, because the rollback of an earlier
// attempt that is still under way would release the later one.

import { randomBytes } from 'node:crypto';
import os from 'node:os';
import { basename } from 'node:path';
import type { Claim } from '../lock/types.ts';
import { newClaim, waiterIdOf, whoOf } from '../lock/value.ts';
import { userName } from '../system/user.ts';
import type { Form } from './form.ts';
import { usageError } from './messages.ts';

export interface Wish {
  readonly form: Form;
  readonly ttlMs: number;
  readonly isFenced: boolean;
  /** null: the base name of the program. */
  readonly label: string | null;
}

export class Claims {
  readonly #newToken: () => string;
  #lastToken = '';

  constructor(newToken: () => string = () => randomBytes(20).toString('base64url')) {
    this.#newToken = newToken;
  }

  /** @throws RedlockError `usage` for a bad token of the program */
  next({ form, ttlMs, isFenced, label }: Wish): Claim {
    const note = { ...ourselves(label), since: new Date().toISOString() };
    return newClaim({ ...form, ttlMs, isFenced }, this.#token(), note);
  }

  /** The id of a waiter in the wait queue, new at every call. */
  waiterId(form: Form, label: string | null): string {
    return waiterIdOf(form, randomBytes(12).toString('hex'), whoOf(ourselves(label)));
  }

  #token(): string {
    const token: unknown = this.#newToken();
    if (typeof token !== 'string' || !/^\S{8,200}$/.test(token)) {
      throw usageError(
        'newToken: not a valid token (return 8 to 200 characters without white space)',
      );
    }
    if (token === this.#lastToken) {
      throw usageError('newToken: the same token twice in a row (return a new one at every call)');
    }
    this.#lastToken = token;
    return token;
  }
}

/** This process, as other clients see it. */
function ourselves(label: string | null) {
  return {
    host: os.hostname(),
    pid: process.pid,
    user: userName(),
    label: label ?? basename(process.argv[1] ?? process.execPath),
  };
}
