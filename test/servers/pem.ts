// The certificates of the tests, valid for a hundred years: `ca` has signed `server` (for
// localhost) and `client`; `other` is an authority that has signed neither.
// `default` has the key of `server`, and is what a router shows where it knows no name.

import { fileURLToPath } from 'node:url';

/** The path of a certificate or key: `ca.pem`, `server.key`. */
export function pemFile(name: string): string {
  return fileURLToPath(new URL(`./tls/${name}`, import.meta.url));
}
