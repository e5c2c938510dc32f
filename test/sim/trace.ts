// What has happened, in order: as a hash always, as lines for a person when asked for, and as counts of what is worth
// counting ("marks"). It observes and is observed by nobody in the world. The surprise: the hash covers every line, kept or
// not, so two runs with the same hash have done the same things at the same times.

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

  note(at: number, who: string, what: string): void {
    this.#lineCount += 1;
    this.#mix(Math.floor(at * 1000));
    for (let index = 0; index < who.length; index += 1) this.#mix(who.charCodeAt(index));
    for (let index = 0; index < what.length; index += 1) this.#mix(what.charCodeAt(index));
    this.detail(at, who, () => what);
  }

  /** For the log alone, and only put into words when there is one. */
  detail(at: number, who: string, what: () => string): void {
    if (this.#isKept) this.lines.push(`${at.toFixed(3).padStart(12)}  ${who.padEnd(10)} ${what()}`);
  }

  mark(name: string): void {
    this.marks.set(name, (this.marks.get(name) ?? 0) + 1);
  }

  get hash(): string {
    return `${(this.#hash >>> 0).toString(16)}-${(this.#other >>> 0).toString(16)}-${this.#lineCount}`;
  }

  #mix(number: number): void {
    this.#hash = Math.imul(this.#hash ^ (number | 0), 0x01000193);
    this.#other = (Math.imul(this.#other, 31) + (number | 0)) | 0;
  }
}
