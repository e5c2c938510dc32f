// Repeatable chance: sfc32, a small and well-tested generator, seeded from a number and a label.
// Not for secrets. Every part of the world has a stream of its own, so that one more draw in one
// part does not change the others.

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;
  readonly #seed: string;

  constructor(seed: number | string, label = '') {
    this.#seed = `${seed}/${label}`;
    [this.#a, this.#b, this.#c] = [1, 2, 3].map((salt) => hashOf(`${salt}${this.#seed}`)) as [
      number,
      number,
      number,
    ];
    for (let count = 0; count < 12; count += 1) this.next();
  }

  /** Another stream, which depends only on this one's seed and the label. */
  stream(label: string): Random {
    return new Random(this.#seed, label);
  }

  /** In [0, 1). */
  readonly next = (): number => {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return (sum >>> 0) / 4294967296;
  };

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  /** Both ends are possible. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Exponential: often little, sometimes a lot. */
  around(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)] as Item;
  }
}

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
