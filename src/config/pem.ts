// What a PEM file holds, as far as a connection by TLS depends on it. A file of its own, so that
// Node's modules for it are loaded only where a configuration names such a file.

import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContextOptions } from 'node:tls';

/** Note: Node takes an empty text for no authority at all, and trusts every public one then. */
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
