// Which server a master is, from its INFO: the name and the version that people know it by. Valkey
// tells a version of Redis as well, which is always the same and does not tell one Valkey from
// another.

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
