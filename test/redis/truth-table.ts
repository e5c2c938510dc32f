// Truth tables as they are read: one row for each state of a key, one column for each script,
// `answer -> state afterwards` in each cell; without the arrow, everything is as it was. It knows
// neither scripts nor states.

export interface Row {
  readonly before: string;
  /** By the names of the columns. */
  readonly cells: Readonly<Record<string, string>>;
}

export function rowsOf(table: string): Row[] {
  const lines = table.split('\n').filter((line) => line.trim() !== '');
  const [[, ...columns] = [], ...rows] = lines.map((line) =>
    line.split('|').map((text) => text.trim()),
  );
  return rows.map(([before = '', ...cells]) => ({
    before,
    cells: Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ''])),
  }));
}

/** As a cell says it. */
export function cellOf(answer: string, before: string, after: string): string {
  return after === before ? answer : `${answer} -> ${after}`;
}
