// What works, but should be corrected: data for doctor, which judges it, and a line for people.

export interface ConfigWarning {
  /** exposed-secret: other users can read a secret in `file`. even-count: of the masters. */
  readonly kind: 'exposed-secret' | 'even-count';
  /** The path of the file that it is about; null: about no file. */
  readonly file: string | null;
  readonly message: string;
  /** What to do. */
  readonly advice: string;
}

/** Takes a warning, where a setting is read. */
export type Warn = (warning: ConfigWarning) => void;

/** One line: `/etc/redlockrc: holds a password and is readable by others (chmod 600 it)`. */
export function warningLine({ file, message, advice }: ConfigWarning): string {
  return `${file === null ? '' : `${file}: `}${message} (${advice})`;
}
