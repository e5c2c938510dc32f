// What is kept of a run, and of the holder that stood in its way: a few hundred bytes, whatever
// others have written.

import { describe, expect, it } from 'vitest';
import { type HolderNote, parseValue, renderValue } from '../../../src/lock/holder.ts';
import { blockerOf, parseRecord, type RunRecord, renderRecord } from '../../../src/lock/record.ts';

const note: HolderNote = { host: 'web1', pid: 4711, user: 'ops', since: '2026-11-21T02:00:00Z', label: 'backup.sh' };
const huge = 'x'.repeat(3_000_000);
const hugeNote = { host: huge, pid: 1, user: huge, since: huge, label: huge };
const record: RunRecord = {
  token: 'T',
  host: 'web1',
  pid: 4711,
  user: 'ops',
  label: 'backup.sh',
  outcome: 'ran',
  waitMs: 1,
  heldMs: 2,
  exitCode: 0,
  signal: null,
  status: 0,
  fence: 5,
  blocker: { token: 'B', note },
};

describe('a value', () => {
  it('is read as it was written', () => {
    expect(parseValue(renderValue('T', note))).toEqual({ token: 'T', note });
  });

  it('has a note of known fields of 80 characters, whoever wrote it', () => {
    const cut = 'x'.repeat(80);
    const bounded = { host: cut, pid: 1, user: cut, since: cut, label: cut };
    expect(parseValue(`T ${JSON.stringify({ ...hugeNote, more: huge })}`)).toEqual({ token: 'T', note: bounded });
    expect(renderValue('T', hugeNote)).toBe(`T ${JSON.stringify(bounded)}`);
  });

  it('of ours fits into what a refusal tells of it', () => {
    const name = 'ü'.repeat(80);
    const value = renderValue('t'.repeat(40), {
      host: name,
      pid: 4_194_304,
      user: name,
      since: note.since,
      label: name,
    });
    expect(Buffer.byteLength(value)).toBeLessThan(1_024);
  });

  it('is cut between characters, and not within one', () => {
    expect(parseValue(renderValue('T', { ...note, label: '🔒'.repeat(100) })).note?.label).toBe('🔒'.repeat(80));
  });
});

describe('a line of the history', () => {
  it('is read as it was written', () => {
    expect(parseRecord(renderRecord(record))).toEqual(record);
  });

  it.each([
    ['the blocker is a note of megabytes', { blocker: blockerOf(`T ${JSON.stringify({ ...hugeNote, more: huge })}`) }],
    ['the blocker is a token of megabytes', { blocker: blockerOf(`${huge} ${JSON.stringify(note)}`) }],
    ["the blocker is another program's value of megabytes", { blocker: blockerOf(huge) }],
    ['the host has a long name', { host: huge, user: huge, label: huge }],
  ])('is short where %s', (_, changes) => {
    const line = renderRecord({ ...record, ...changes });
    expect(Buffer.byteLength(line)).toBeLessThan(1_500);
    expect(parseRecord(line)).not.toBeNull();
  });

  it('of others is read within the same bounds, without what is unknown', () => {
    const line = JSON.stringify({ v: 1, ...record, signal: huge, outcome: huge, label: huge, more: huge });
    expect(parseRecord(line)).toEqual({
      ...record,
      signal: 'x'.repeat(80),
      outcome: 'x'.repeat(80),
      label: 'x'.repeat(80),
    });
  });

  it.each(['', 'x', 'null', '[]', '{}', '{"v":2}', JSON.stringify({ v: 1, ...record, fence: 'x' })])(
    'is none: %s',
    (line) => {
      expect(parseRecord(line)).toBeNull();
    },
  );
});
