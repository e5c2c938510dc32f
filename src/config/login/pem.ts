// Checks what a PEM file holds before a TLS connection needs it. It is loaded only
// where the configuration names a PEM file, because it loads node:tls.

import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** *Note:* Node takes an empty text for none, and then trusts every public authority. */
export function isAuthority(ca = ''): boolean {
  return ca.includes('-----BEGIN ') && succeeds(() => new X509Certificate(ca));
}

/** Whether each is what it should be, none is empty, and the certificate was made for the key. */
export function isAccepted(pair: Pick<SecureContextOptions, 'cert' | 'key'>): boolean {
  return Object.values(pair).every(Boolean) && succeeds(() => createSecureContext(pair));
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
