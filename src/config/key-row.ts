// The form of a row in the table of configuration keys.

/**
 * How the text of a value is read: see values.ts. `limit` is a duration or `none`, `patience` is a
 * duration or `forever`.
 */
export type ValueKind =
  | 'duration'
  | 'patience'
  | 'limit'
  | 'count'
  | 'slots'
  | 'holdOn'
  | 'bytes'
  | 'status'
  | 'signal'
  | 'format'
  | 'protocol'
  | 'boolean'
  | 'text'
  | 'path'
  | 'masters'
  | 'tls';

export interface KeyRow {
  readonly key: string;
  readonly kind: ValueKind;
  /** The default; null when there is none, or when it is computed from other values. */
  readonly default: string | null;
  /** The default as help and example say it; must be given where `default` is null. */
  readonly defaultText?: string;
  readonly description: string;
}
