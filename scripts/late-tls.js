// @ts-check
// Replaces `tls` for ioredis in the bundles: Node loads its own when a TLS connection is made.

import { createRequire } from 'node:module';

const native = createRequire(import.meta.url);

/** @param {Parameters<typeof import('node:tls').connect>} words */
export const connect = (...words) => native('node:tls').connect(...words);
