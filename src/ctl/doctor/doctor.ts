// `redlockctl doctor`: checks whether a set of masters is fit for locks. It gathers facts, applies
// the checks to them, and prints the findings, the worst first. Under --strict the findings that
// --accept names may be a warning or unknown, but never an error. *Note:* it takes a real lock of
// its own name on every master for a moment, because nothing less shows that a run would work.

import type { Tone, TonedLine } from '../../cli/colour.ts';
import { fittedLines, toned } from '../../cli/rows.ts';
import { renderTable } from '../../cli/table.ts';
import { isFailed } from '../../redis/errors.ts';
import { areMarked } from '../../redis/restart.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { nearest } from '../../text/suggestion.ts';
import type { Call, VerbArguments } from '../call.ts';
import { allLines, MasterQuery } from '../master-query.ts';
import type { CtlSettings } from '../settings.ts';
import { gatherFacts } from './facts.ts';
import { type Finding, findingsOf, type Grade, grades } from './findings.ts';
import { markedForMs, masterChecks } from './master-checks.ts';
import {
  freezeChecks,
  listChecks,
  reachability,
  type SeenFreeze,
  setChecks,
} from './set-checks.ts';

/** Every name that a finding can have. */
const checkNames = [setChecks, reachability, masterChecks, listChecks, freezeChecks].flatMap(
  (checks) => Object.keys(checks),
);

/**
 * The names of the checks that are accepted: `--accept mode --accept hosts`, `--accept mode hosts`
 * or `--accept mode,hosts`.
 * @throws UsageError for a name that no check has
 */
function acceptedChecks({ operands, textsOf }: VerbArguments): ReadonlySet<string> {
  const given = textsOf('--accept');
  const [operand] = operands;
  if (given.length === 0 && operand !== undefined)
    throw new UsageError(
      `doctor: ${quoted(operand)}: unexpected argument (write redlockctl doctor)`,
    );
  const names = [...given, ...operands].flatMap((text) => text.split(','));
  for (const name of names) {
    if (checkNames.includes(name)) continue;
    const suggestion = nearest(name, checkNames);
    const advice =
      suggestion === null ? `one of ${checkNames.join(', ')}` : `did you mean ${suggestion}?`;
    throw new UsageError(`--accept: ${quoted(name)}: no finding of doctor (${advice})`);
  }
  return new Set(names);
}

export async function doctor(call: Call): Promise<number> {
  const { args, print, printLines, columns } = call;
  const accepted = acceptedChecks(args);
  const findings = await examine(call);
  if (args.has('--json')) print(jsonLine({ worst: worstOf(findings), findings }));
  else printLines(renderFindings(findings, columns));
  if (worstOf(findings) === 'error') return exitCode.config;
  const isOpen = ({ check, grade }: Finding) => grade !== 'ok' && !accepted.has(check);
  return args.has('--strict') && findings.some(isOpen) ? exitCode.warnings : exitCode.ok;
}

/** All findings, the worst first. */
async function examine(call: Call): Promise<Finding[]> {
  const { settings, clock } = call;
  const query = await MasterQuery.of(settings, clock);
  const facts = await gatherFacts(query, settings, clock);
  const around = {
    restartGraceMs: settings.restartGraceMs,
    isMarked: areMarked(settings.restartGraceMs, settings.protocol),
    oldestMarkMs: Math.max(
      0,
      ...facts.map((fact) => (isFailed(fact) ? 0 : (markedForMs(fact) ?? 0))),
    ),
    masterTimeoutMs: settings.masterTimeoutMs,
    isLocal: settings.local,
  };
  const masters = facts.map((fact) => (isFailed(fact) ? fact : { ...fact, ...around }));
  const addresses = query.servers.map(({ origin }) => origin);
  const { configFile, minorWarnings } = settings;
  const whyUnguarded = await call.whyUnguarded();
  const set = { masters, addresses, configFile, minorWarnings, whyUnguarded };
  const isCompared = around.isMarked && settings.differingMasters !== 'ignore';
  const frozen = await frozenLocks(query, settings);
  return [
    ...findingsOf(setChecks, null, set),
    ...masters.flatMap((seen, at) => {
      const master = query.servers[at]?.name ?? '';
      const reached = findingsOf(reachability, master, seen);
      return isFailed(seen) ? reached : [...reached, ...findingsOf(masterChecks, master, seen)];
    }),
    ...findingsOf(listChecks, null, { masters, isCompared, now: clock.now() }),
    ...frozen.flatMap((lock) => findingsOf(freezeChecks, null, lock)),
  ].sort((a, b) => grades.indexOf(a.grade) - grades.indexOf(b.grade));
}

async function frozenLocks(query: MasterQuery, { protocol }: CtlSettings): Promise<SeenFreeze[]> {
  if (protocol !== 'redlock') return []; // The older protocol knows no freezes.
  query.reset();
  const names = await query.namesOf('freezes', '*');
  const reports = await query.reports(names);
  const histories = await query.histories(names, allLines);
  return names.map((name, at) => ({
    name,
    reports: reports[at] ?? [],
    histories: histories[at] ?? [],
  }));
}

const tones: Readonly<Record<Grade, Tone>> = {
  error: 'bad',
  warning: 'doubtful',
  unknown: 'doubtful',
  ok: 'good',
};

/**
 * Problems first, with reason and remedy; then a table of what is ok. `columns`: the width of the
 * terminal; null: none.
 */
export function renderFindings(
  findings: readonly Finding[],
  columns: number | null = null,
): TonedLine[] {
  const groups = merged(findings);
  const fine = groups.filter(({ grade }) => grade === 'ok');
  const rows = fine.map(({ check, masters, message }) => [
    check,
    masters.length > 1 ? `${masters.length} masters` : (masters[0] ?? ''),
    message,
  ]);
  const [head, ...others] = toned(renderTable(['CHECK', 'MASTER', 'RESULT'], rows), 'plain');
  const counts = grades.map((grade) =>
    countLine(grade, groups.filter((group) => group.grade === grade).length),
  );
  const blocks: TonedLine[][] = [
    ...groups.filter((group) => !fine.includes(group)).map((group) => problemLines(group, columns)),
    fittedLines(head ? [{ ...head, tone: 'head' }, ...others] : [], columns),
    fittedLines(toned(counts.join(', '), tones[worstOf(findings)]), columns),
  ].filter((block) => block.length > 0);
  return blocks.flatMap((block, at) => (at === 0 ? block : [...toned('\n', 'plain'), ...block]));
}

/** Of what is shown: "no errors", "1 warning", "2 unknown", "22 ok" */
function countLine(grade: Grade, count: number): string {
  const isNoun = grade === 'error' || grade === 'warning';
  const word = isNoun && count !== 1 ? `${grade}s` : grade;
  return `${count === 0 ? 'no' : count} ${count === 0 && !isNoun ? `checks ${word}` : word}`;
}

type Group = Finding & { readonly masters: readonly string[] };

/** Merges equal findings about several masters; findings of one check stay together. */
function merged(findings: readonly Finding[]): Group[] {
  const groups = new Map<string, Finding[]>();
  for (const finding of findings) {
    const { check, grade, message, fix } = finding;
    const key = JSON.stringify([grade, check, message, fix]);
    groups.set(key, [...(groups.get(key) ?? []), finding]);
  }
  const checks = [...new Set(findings.map(({ check }) => check))];
  return [...groups.values()]
    .map((group) => ({
      ...(group[0] as Finding),
      masters: group.flatMap((one) => one.master ?? []),
    }))
    .sort(
      (a, b) =>
        grades.indexOf(a.grade) - grades.indexOf(b.grade) ||
        checks.indexOf(a.check) - checks.indexOf(b.check),
    );
}

function problemLines(
  { check, grade, masters, message, why, fix }: Group,
  columns: number | null,
): TonedLine[] {
  const which = masters.length === 0 ? '' : `${masters.join(', ')}: `;
  const lines = [
    ...toned(`${grade}: ${check}: ${which}${message}`, tones[grade]),
    ...(why === null ? [] : toned(`  why: ${why}`, 'plain')),
  ];
  // A command is left whole, so that it can be copied.
  return [...fittedLines(lines, columns), ...(fix === null ? [] : toned(`  fix: ${fix}`, 'plain'))];
}

/** The findings are sorted, the worst first. */
function worstOf(findings: readonly Finding[]): Grade {
  return findings[0]?.grade ?? 'ok';
}
