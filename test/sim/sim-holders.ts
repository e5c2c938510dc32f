// The holders beside one key on a simulated server: a sorted set of members, with a slot and a
// value each, by expiry. As in the scripts, each access drops the holders that have expired.

export interface SimHolder {
  readonly slot: number;
  readonly value: string;
  /** By the server's clock, in ms; the holder is removed at that instant. */
  readonly endsAt: number;
}

export class SimHolders {
  readonly #ends = new Map<string, SimHolder>();
  #expiresAt = 0;

  /**
   * The holders that have not ended, by expiry and then by the bytes of the member, as Redis orders
   * them.
   */
  living(now: number): SimHolder[] {
    if (now > this.#expiresAt) this.#ends.clear();
    for (const [member, { endsAt }] of this.#ends) if (endsAt <= now) this.#ends.delete(member);
    return [...this.#ends.values()].sort(
      (a, b) => a.endsAt - b.endsAt || (permitOf(a) < permitOf(b) ? -1 : 1),
    );
  }

  add(holder: SimHolder): void {
    this.#ends.set(permitOf(holder), holder);
  }

  remove(holder: Pick<SimHolder, 'slot' | 'value'>): void {
    this.#ends.delete(permitOf(holder));
  }

  expireAt(instant: number): void {
    this.#expiresAt = instant;
  }

  clear(): void {
    this.#ends.clear();
  }

  copy(): SimHolders {
    const copy = new SimHolders();
    for (const [member, holder] of this.#ends) copy.#ends.set(member, holder);
    copy.#expiresAt = this.#expiresAt;
    return copy;
  }
}

function permitOf({ slot, value }: Pick<SimHolder, 'slot' | 'value'>): string {
  return `${slot} ${value}`;
}
