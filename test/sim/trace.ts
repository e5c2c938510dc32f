// What has happened, in order: always as a hash, as lines for people on request, and as counts of
// notable events ("marks"). Nothing in the world can observe it. The hash covers every line, kept
// or not, so two runs with the same hash have done the same at the same times.

export class Trace {
  readonly lines: string[] = [];
  readonly marks = new Map<string, number>();
  readonly #isKept: boolean;
  #hash = 0x811c9dc5;
  #other = 0;
  #lineCount = 0;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  note(at: number, actor: string, what: string): void {
    this.#lineCount += 1;
    this.#mix(Math.floor(at * 1000));
    for (let index = 0; index < actor.length; index += 1) this.#mix(actor.charCodeAt(index));
    for (let index = 0; index < what.length; index += 1) this.#mix(what.charCodeAt(index));
    this.detail(at, actor, () => what);
  }

  /** For the log alone; the text is made only when there is one. */
  detail(at: number, actor: string, what: () => string): void {
    if (this.#isKept)
      this.lines.push(`${at.toFixed(3).padStart(12)}  ${actor.padEnd(10)} ${what()}`);
  }

  mark(name: string): void {
    this.marks.set(name, (this.marks.get(name) ?? 0) + 1);
  }

  get hash(): string {
    const [hash, other] = [this.#hash >>> 0, this.#other >>> 0];
    return `${hash.toString(16)}-${other.toString(16)}-${this.#lineCount}`;
  }

  #mix(number: number): void {
    this.#hash = Math.imul(this.#hash ^ (number | 0), 0x01000193);
    this.#other = (Math.imul(this.#other, 31) + (number | 0)) | 0;
  }
}
