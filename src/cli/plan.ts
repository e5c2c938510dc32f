// What --dry-run prints on stdout: the settings of one run as aligned text for people. The command
// is shown as JSON, so that an empty argument or a trailing space is visible.

import { warningLine } from '../config/layer.ts';
import {
  defaultTextOf,
  fieldOf,
  keyRow,
  kindOf,
  type SettingKey,
  settingKeys,
} from '../config/setting-table.ts';
import type { Settings } from '../config/settings.ts';
import { driftMsOf, quorumOf } from '../lock/quorum.ts';
import { stopAtMsOf } from '../lock/timings.ts';
import { quoted } from '../text/foreign-text.ts';
import { renderDuration } from '../text/time.ts';

type Row = readonly [label: string, value: string, source: string];

/** Ends with a newline. With verbosity `verbose` each line also says where the value came from. */
export function renderPlan(settings: Settings): string {
  const rows = rowsOf(settings);
  const labelWidth = Math.max(...rows.map(([label]) => label.length)) + 2;
  const valueWidth = Math.min(40, Math.max(...rows.map(([, value]) => value.length))) + 2;
  const lines = rows.map(([label, value, source]) => {
    const line = label.padEnd(labelWidth) + value;
    return settings.verbosity === 'verbose'
      ? `${line.padEnd(labelWidth + valueWidth - 2)}  ${source}`.trimEnd()
      : line;
  });
  return `${lines.join('\n')}\n`;
}

/** Shown elsewhere: in the key, and with the masters. */
const hidden: readonly SettingKey[] = ['prefix', 'local', 'localDirectory'];

/** In this order, also with their defaults; all others only with another value. */
const always: readonly SettingKey[] = [
  'masterTimeout',
  'giveUpAfter',
  'wait',
  'conflictExitCode',
  'jitter',
  'holdAtLeast',
  'restartGrace',
  'differingMasters',
  'fencing',
  'history',
  'reentrant',
  'foreground',
  'keepBackground',
  'isolate',
  'maxRun',
  'logFormat',
];
const above: readonly SettingKey[] = ['ttl', 'signal', 'killAfter'];

function rowsOf(settings: Settings): Row[] {
  const { names, prefix, sources, ttlMs, driftFactor, url, reportFile, configFile } = settings;
  const row = (key: SettingKey): Row => [
    labelOf(key),
    valueText(key, settings),
    sources[key] ?? '',
  ];
  const others = settingKeys.filter(
    (key) => ![...hidden, ...always, ...above].includes(key) && !hasDefault(key, settings),
  );
  const warnings = [...settings.warnings, ...settings.minorWarnings.map(warningLine)];
  const words = settings.command.map((word) => quoted(word, 4096));
  return [
    ...names.flatMap((name): Row[] => [
      ['name', quoted(name), 'argument NAME'],
      ['key', quoted(prefix + name), sources.prefix ?? ''],
    ]),
    ...mastersOf(settings),
    row('ttl'),
    derived('drift', driftMsOf(ttlMs, driftFactor)),
    derived('extend every', settings.extendEveryMs),
    derived('stop at', stopAtMsOf(settings)),
    row('signal'),
    row('killAfter'),
    derived('margin', settings.marginMs),
    ...[...always, ...others].map(row),
    ...(url === null ? [] : [['url', url, 'the CI job'] as const]),
    ...(reportFile === null
      ? []
      : [['report', quoted(reportFile, 4096), sources.report ?? ''] as const]),
    ...(configFile === null ? [] : [['config file', quoted(configFile, 4096), ''] as const]),
    ...warnings.map((warning) => ['warning', warning, ''] as const),
    ['command', `[${words.join(', ')}]`, 'argument COMMAND'],
  ];
}

/** `killAfter` is `kill after`. */
function labelOf(key: SettingKey): string {
  return key === 'signal'
    ? 'stop signal'
    : key.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function valueText(key: SettingKey, settings: Settings): string {
  const value = settings[fieldOf(key) as keyof Settings];
  const render = kindOf(key).render as (value: unknown) => string;
  return value === null ? defaultTextOf(key) : render(value);
}

function hasDefault(key: SettingKey, settings: Settings): boolean {
  const { default: text } = keyRow(key);
  const byDefault = text === undefined ? null : kindOf(key).parse(text);
  return settings[fieldOf(key) as keyof Settings] === byDefault;
}

function derived(label: string, durationMs: number): Row {
  return [label, renderDuration(durationMs), 'derived'];
}

function mastersOf({ local, localDirectory, masters, sources }: Settings): Row[] {
  if (local) {
    const directory = localDirectory === null ? '' : ` in ${quoted(localDirectory, 4096)}`;
    const value = `local: this user's own on this machine${directory}`;
    return [['masters', value, sources.local ?? '']];
  }
  const count = masters.length;
  return [
    ...masters.map(({ name }): Row => ['master', name, sources.masters ?? '']),
    ['quorum', `${quorumOf(count)} of ${count}`, 'derived'],
  ];
}
