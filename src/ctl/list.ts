// `redlockctl list [PATTERN]`: all locks under the prefix, found by SCAN on every master, page by page, and read in small steps. It
// never asks for all keys at once. The surprise: a name that only one master shows is in the list as well: an orphan.

import { roughly } from '../cli/lines.ts';
import { quorumOf } from '../lock/validity.ts';
import type { Call } from './call.ts';
import { withEndings } from './endings.ts';
import { exitCode } from './exit-code.ts';
import type { Holder, LockState } from './lock-state.ts';
import { shortened, together } from './lock-text.ts';
import { Survey } from './survey.ts';
import { renderTable } from './table.ts';

export async function list({ words, settings, clock, print, tell }: Call): Promise<number> {
  const survey = await Survey.of(settings, clock);
  const names = await survey.names(words.operands[0] ?? '*');
  // Gone meanwhile: nobody asked for those by name.
  const held = (await survey.look(names)).filter(({ state }) => state !== 'free');
  // Before the histories are asked for: a master that may not tell those has told what was asked.
  const failures = survey.failures();
  const locks = await withEndings(survey, held);
  for (const [index, failed] of failures.entries()) {
    if (failed !== null) tell(`${survey.inspectors[index]?.name}: ${failed.message}`);
  }
  print(words.has('--json') ? `${JSON.stringify({ locks })}\n` : renderTable(head, locks.map(rowOf)));
  if (failures.some((failed) => failed?.cause === 'unfit')) return exitCode.config;
  const answeredCount = failures.filter((failed) => failed === null).length;
  return answeredCount < quorumOf(failures.length) ? exitCode.unreachable : exitCode.ok;
}

const head = ['NAME', 'STATE', 'VOTES', 'LEFT', 'WAITING', 'HOLDER'];

function rowOf({ name, state, masters, sharing, slots, holders, remainingMs, votes, queue }: LockState): string[] {
  const [first] = holders;
  const isKnown = first !== undefined && state !== 'unknown' && state !== 'unfit';
  const left = state === 'orphan' ? (votes.find(({ vote }) => vote === 'held')?.remainingMs ?? null) : remainingMs;
  return [
    shortened(name, 60),
    state,
    `${first?.votes ?? 0}/${masters}`,
    isKnown ? (left === null ? 'for ever' : roughly(left)) : '',
    queue.length === 0 ? '' : String(queue.length),
    first === undefined ? '' : sharing === 'exclusive' ? briefly(first) : together({ sharing, slots, holders }),
  ];
}

function briefly({ kind, user, host, pid, label, token, endedAt }: Holder): string {
  if (kind === 'redlock-run')
    return `${endedAt === null ? '' : 'ended: '}${shortened(`${user}@${host} ${pid} ${label}`, 60)}`;
  return kind === 'string' ? `another program: ${shortened(token ?? '', 24)}` : `another program: a ${kind}`;
}
