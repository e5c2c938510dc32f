// What the checkers read from a key of the older protocol: time.setnx.lua tells what it means.

/** How far clocks may differ from the master's. */
const differenceMs = 1_000;

/**
 * The owner of a key with this time, and until when it is safe, in ms of the server; null: the time
 * is over, or none. `beside`: what stands beside the key.
 */
export function shownBy(
  time: string,
  beside: string | null,
  now: number,
): { readonly owner: string; readonly safeUntil: number } | null {
  const endsAt = endOf(time);
  if (endsAt === null || now > endsAt + differenceMs) return null;
  const isNamed = beside?.startsWith(`${time} `) === true;
  const owner = isNamed ? (beside as string).slice(time.length + 1) : time;
  return { owner, safeUntil: endsAt - differenceMs };
}

export function isTime(text: string): boolean {
  return endOf(text) !== null;
}

/** In ms; null for what is no time. */
function endOf(time: string): number | null {
  if (!/^\d+\.?\d*$/.test(time)) return null;
  const number = Number(time);
  return number < 100_000_000_000 ? number * 1_000 : number;
}
