// Checks what a PEM file holds before a TLS connection needs it. It is loaded only
// where the configuration names a PEM file, because it loads node:tls.

import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** *Note:* Node takes an empty text for no authority, and then trusts every public one. */
export function isAuthority(ca: string): boolean {
  return ca.includes('-----BEGIN ') && succeeds(() => new X509Certificate(ca));
}

export function isCertificate(cert: string): boolean {
  return isAccepted({ cert });
}

export function isKey(key: string): boolean {
  return isAccepted({ key });
}

/** Whether the certificate was made for the key. */
export function isPair(cert: string, key: string): boolean {
  return isAccepted({ cert, key });
}

function isAccepted(options: SecureContextOptions): boolean {
  return succeeds(() => createSecureContext(options));
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}
