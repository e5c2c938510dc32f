// A sorted set of Redis: members by score, and those of equal scores by their bytes.

export interface Member {
  readonly member: string;
  readonly score: number;
  /** For the checkers: when it came in, in true time. */
  readonly since: number;
}

export class SortedSet {
  readonly #members = new Map<string, Member>();
  readonly #sorted: Member[] = [];

  get size(): number {
    return this.#sorted.length;
  }

  /** All in order. */
  get members(): readonly Member[] {
    return this.#sorted;
  }

  get(member: string): Member | undefined {
    return this.#members.get(member);
  }

  /** -1: it is not there. */
  rankOf(member: string): number {
    const known = this.#members.get(member);
    return known === undefined ? -1 : this.#placeOf(known);
  }

  /** Returns whether it is new. */
  add(member: string, score: number, since: number): boolean {
    const known = this.#members.get(member);
    if (known?.score === score) return false;
    if (known) this.#sorted.splice(this.#placeOf(known), 1);
    const added = { member, score, since: known?.since ?? since };
    this.#sorted.splice(this.#placeOf(added), 0, added);
    this.#members.set(member, added);
    return known === undefined;
  }

  /** Returns whether it was there. */
  remove(member: string): boolean {
    const known = this.#members.get(member);
    if (known === undefined) return false;
    this.#sorted.splice(this.#placeOf(known), 1);
    return this.#members.delete(member);
  }

  copy(): SortedSet {
    const copy = new SortedSet();
    for (const one of this.#sorted) {
      copy.#sorted.push(one);
      copy.#members.set(one.member, one);
    }
    return copy;
  }

  /** Where it stands, or would. */
  #placeOf({ score, member }: Member): number {
    let [low, high] = [0, this.#sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#sorted[middle] as Member;
      const isBefore = other.score < score || (other.score === score && other.member < member);
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
