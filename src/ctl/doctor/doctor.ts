// `redlockctl doctor`: checks whether a set of masters is fit for locks. It gathers facts, has them
// judged, and prints the findings, the worst first. Under --strict the findings that --accept names
// may be a warning or unknown, but never an error. *Note:* it takes a real lock of its own name on
// every master for a moment, because nothing less shows that a run would work.

import type { Tone, TonedLine } from '../../cli/colour.ts';
import { fittedLines, toned } from '../../cli/rows.ts';
import { renderTable } from '../../cli/table.ts';
import type { Failed } from '../../lock/types.ts';
import type { MasterAddress } from '../../redis/address.ts';
import { isFailed } from '../../redis/errors.ts';
import { areMarked } from '../../redis/restart.ts';
import { exitCode, UsageError } from '../../text/errors.ts';
import { jsonLine, quoted } from '../../text/foreign-text.ts';
import { nearest } from '../../text/suggestion.ts';
import type { Call, VerbArguments } from '../call.ts';
import { MasterQuery } from '../master-query.ts';
import type { CtlSettings } from '../settings.ts';
import { gatherFacts, type MasterFacts } from './facts.ts';
import {
  type Assessment,
  type Circumstances,
  type Finding,
  type Grade,
  grades,
} from './findings.ts';
import { freezeFindings, freezesCheck } from './freezes.ts';
import { listFindings, listsCheck } from './list-findings.ts';
import { masterCheckNames, masterFindings } from './master-findings.ts';
import { isWaitedFor } from './restart-findings.ts';
import { configFile, count, duplicates, guard, hosts, quorum, reachable } from './set-findings.ts';

/** What the checks of the masters together, of this machine and of the configuration look at. */
interface Seen {
  readonly facts: readonly (MasterFacts | Failed)[];
  readonly addresses: readonly MasterAddress[];
  readonly settings: CtlSettings;
  readonly around: Circumstances;
  /** Why a run could not guard its command here; null: it could. */
  readonly whyUnguarded: string | null;
}

/** By name, in the order in which they are told. */
const setChecks: Readonly<Record<string, (seen: Seen) => Assessment>> = {
  quorum: ({ facts, around }) => quorum(facts, (fact) => isWaitedFor(fact, around)),
  count: ({ addresses }) => count(addresses.length),
  hosts: ({ addresses }) => hosts(addresses),
  duplicates: ({ facts }) => duplicates(facts),
  guard: ({ whyUnguarded }) => guard(whyUnguarded),
  configFile: ({ settings }) => configFile(settings.configFile, settings.minorWarnings),
};
/** Of each master. */
const reachableCheck = 'reachable';

/** Every name that a finding can have. */
const checkNames = [
  ...Object.keys(setChecks),
  reachableCheck,
  ...masterCheckNames,
  listsCheck,
  freezesCheck,
];

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
  const { args, settings, clock, print, printLines, columns } = call;
  const accepted = acceptedChecks(args);
  const query = await MasterQuery.of(settings, clock);
  const facts = await gatherFacts(query, settings, clock);
  const { masterTimeoutMs, local } = settings;
  const around = { ...marksOf(facts, settings), masterTimeoutMs, isLocal: local };
  const addresses = query.servers.map(({ origin }) => origin);
  const whyUnguarded = await call.whyUnguarded();
  const seen: Seen = { facts, addresses, settings, around, whyUnguarded };
  const findings: Finding[] = [
    ...Object.entries(setChecks).map(([check, assess]) => ({
      check,
      master: null,
      ...assess(seen),
    })),
    ...facts.flatMap((fact, at): Finding[] => {
      const master = query.servers[at]?.name ?? '';
      const answer = { check: reachableCheck, master, ...reachable(isFailed(fact) ? fact : null) };
      return isFailed(fact) ? [answer] : [answer, ...masterFindings(master, fact, around)];
    }),
    ...listFindings(facts, around.isMarked && settings.differingMasters !== 'ignore', clock.now()),
    // The older protocol knows no freezes.
    ...(settings.protocol === 'redlock' ? await freezeFindings(query) : []),
  ].sort((a, b) => grades.indexOf(a.grade) - grades.indexOf(b.grade));
  if (args.has('--json')) print(jsonLine({ worst: worstOf(findings), findings }));
  else printLines(renderFindings(findings, columns));
  const has = (grade: Grade) => findings.some((finding) => finding.grade === grade);
  if (has('error')) return exitCode.config;
  const isOpen = ({ check, grade }: Finding) => grade !== 'ok' && !accepted.has(check);
  return args.has('--strict') && findings.some(isOpen) ? exitCode.warnings : exitCode.ok;
}

/** What the findings need to know of the marks of all masters. */
function marksOf(
  facts: readonly (MasterFacts | Failed)[],
  settings: CtlSettings,
): Pick<Circumstances, 'restartGraceMs' | 'isMarked' | 'oldestMarkMs'> {
  const marks = facts.flatMap((fact) => (isFailed(fact) ? [] : (fact.mark?.forMs ?? [])));
  return {
    restartGraceMs: settings.restartGraceMs,
    isMarked: areMarked(settings.restartGraceMs, settings.protocol),
    oldestMarkMs: Math.max(0, ...marks),
  };
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
  const problems = groups
    .filter(({ grade }) => grade !== 'ok')
    .map((group) => problemLines(group, columns));
  const fine = groups
    .filter(({ grade }) => grade === 'ok')
    .map(({ check, masters, message }) => {
      return [
        check,
        masters.length > 1 ? `${masters.length} masters` : (masters[0] ?? ''),
        message,
      ];
    });
  const counts = grades.map((grade) =>
    countLine(grade, groups.filter((group) => group.grade === grade).length),
  );
  const [head, ...rows] = toned(renderTable(['CHECK', 'MASTER', 'RESULT'], fine), 'plain');
  const parts: TonedLine[][] = [
    ...problems,
    fittedLines(head ? [{ ...head, tone: 'head' }, ...rows] : [], columns),
    fittedLines(toned(counts.join(', '), tones[worstOf(findings)]), columns),
  ].filter((part) => part.length > 0);
  return parts.flatMap((part, at) => (at === 0 ? part : [...toned('\n', 'plain'), ...part]));
}

/** Of what is shown: "no errors", "1 warning", "2 unknown", "22 ok" */
function countLine(grade: Grade, count: number): string {
  const isNoun = grade === 'error' || grade === 'warning';
  const word = isNoun && count !== 1 ? `${grade}s` : grade;
  return `${count === 0 ? 'no' : count} ${count === 0 && !isNoun ? `checks ${word}` : word}`;
}

type Group = Omit<Finding, 'master'> & { readonly masters: readonly string[] };

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
    .map(([first, ...others]) => {
      const { master, ...rest } = first as Finding;
      return {
        ...rest,
        masters: [first as Finding, ...others].flatMap((finding) => finding.master ?? []),
      };
    })
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
  const told = [
    ...toned(`${grade}: ${check}: ${which}${message}`, tones[grade]),
    ...(why === null ? [] : toned(`  why: ${why}`, 'plain')),
  ];
  // A command is left whole, so that it can be copied.
  return [...fittedLines(told, columns), ...(fix === null ? [] : toned(`  fix: ${fix}`, 'plain'))];
}

function worstOf(findings: readonly Finding[]): Grade {
  return findings[0]?.grade ?? 'ok';
}
