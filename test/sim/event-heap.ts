// The pending events, soonest first: a binary heap. A cancelled event stays in it until its time
// comes, because most cancelled events are deadlines, and removing one would mean a search.

export interface Scheduled {
  readonly at: number;
  /** Breaks ties: events at the same time happen in the order in which they were scheduled. */
  readonly sequence: number;
  readonly action: () => void;
  isCancelled: boolean;
}

export class EventHeap {
  readonly #items: Scheduled[] = [];

  push(item: Scheduled): void {
    const items = this.#items;
    let index = items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(item, items[parent] as Scheduled)) break;
      items[index] = items[parent] as Scheduled;
      index = parent;
    }
    items[index] = item;
  }

  peek(): Scheduled | undefined {
    return this.#items[0];
  }

  pop(): Scheduled | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= items.length) break;
      if (
        child + 1 < items.length &&
        isBefore(items[child + 1] as Scheduled, items[child] as Scheduled)
      )
        child += 1;
      if (!isBefore(items[child] as Scheduled, last)) break;
      items[index] = items[child] as Scheduled;
      index = child;
    }
    items[index] = last;
    return first;
  }
}

function isBefore(a: Scheduled, b: Scheduled): boolean {
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}
