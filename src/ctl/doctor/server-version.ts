// The name and the version of a server, from its INFO. Valkey also reports a Redis version, which
// is always the same.

export interface ServerVersion {
  readonly name: 'Redis' | 'Valkey';
  /** Digits and points, as in 7.0.15. */
  readonly version: string;
}

/** `info`: by field. null: it does not tell, or tells no version. */
export function serverVersionOf(info: Readonly<Record<string, string>>): ServerVersion | null {
  const versionIn = (field: string) =>
    /^\d{1,4}(\.\d{1,9}){1,3}(?![\d.])/.exec(info[field] ?? '')?.[0] ?? null;
  const valkey = versionIn('valkey_version');
  if (valkey !== null) return { name: 'Valkey', version: valkey };
  const redis = versionIn('redis_version');
  return redis === null ? null : { name: 'Redis', version: redis };
}
