// A number of things in words.

/** `1 master`, `3 masters`; `many` where it is not `one` with an s. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
