// The certificates of the tests, good for a hundred years: `server` (for localhost) and `client`
// are signed by `ca`; `other` is an authority that has signed neither.

import { fileURLToPath } from 'node:url';

/** The path of a certificate or key: `ca.pem`, `server.key`. */
export function pemFile(name: string): string {
  return fileURLToPath(new URL(`./tls/${name}`, import.meta.url));
}
