// What --dry-run prints on stdout: the settings of one run as aligned text for people. The command
// is shown as JSON, so that an empty argument or a trailing space is visible.

import type { Settings } from '../config/settings.ts';
import { warningLine } from '../config/warning.ts';
import { driftMsOf, quorumOf } from '../lock/quorum.ts';
import { stopAtMsOf } from '../lock/timings.ts';
import { quoted } from '../text/foreign-text.ts';
import { renderDuration } from '../text/time.ts';

interface Row {
  readonly label: string;
  readonly value: string;
  readonly source: string;
}

/** Ends with a newline. With verbosity `verbose` each line also says where the value came from. */
export function renderPlan(settings: Settings): string {
  const rows = rowsOf(settings);
  const labelWidth = Math.max(...rows.map((row) => row.label.length)) + 2;
  const valueWidth = Math.min(40, Math.max(...rows.map((row) => row.value.length))) + 2;
  const lines = rows.map(({ label, value, source }) => {
    const line = label.padEnd(labelWidth) + value;
    return settings.verbosity === 'verbose'
      ? `${line.padEnd(labelWidth + valueWidth - 2)}  ${source}`.trimEnd()
      : line;
  });
  return `${lines.join('\n')}\n`;
}

/** A row of a setting, with where its value came from. */
type RowOf = (label: string, key: string, value: string) => Row;

function rowsOf(settings: Settings): Row[] {
  const from: RowOf = (label, key, value) => ({
    label,
    value,
    source: settings.sources[key] ?? '',
  });
  return [
    ...lockRows(settings, from),
    ...mastersOf(settings),
    ...timingRows(settings, from),
    ...waitRows(settings, from),
    ...recordRows(settings, from),
    ...runRows(settings, from),
    ...outputRows(settings, from),
  ];
}

function lockRows(settings: Settings, from: RowOf): Row[] {
  const { names, prefix, sharing, slotCount, preemptible, protocol } = settings;
  return [
    ...names.flatMap((name) => [
      { label: 'name', value: quoted(name), source: 'argument NAME' },
      from('key', 'prefix', quoted(prefix + name)),
    ]),
    ...(sharing === 'shared' ? [from('shared', 'shared', 'yes')] : []),
    ...(sharing === 'slots' ? [from('slots', 'slots', String(slotCount))] : []),
    ...(preemptible === 'never' ? [] : [from(preemptible, preemptible, 'yes')]),
    ...(protocol === 'redlock' ? [] : [from('protocol', 'protocol', protocol)]),
  ];
}

function derived(label: string, durationMs: number): Row {
  return { label, value: renderDuration(durationMs), source: 'derived' };
}

function timingRows(settings: Settings, from: RowOf): Row[] {
  const { ttlMs, driftFactor } = settings;
  return [
    from('ttl', 'ttl', renderDuration(ttlMs)),
    derived('drift', driftMsOf(ttlMs, driftFactor)),
    derived('extend every', settings.extendEveryMs),
    derived('stop at', stopAtMsOf(settings)),
    from('stop signal', 'signal', settings.stopSignal),
    from('kill after', 'killAfter', renderDuration(settings.graceMs)),
    derived('margin', settings.marginMs),
    from('master timeout', 'masterTimeout', renderDuration(settings.masterTimeoutMs)),
    from('give up after', 'giveUpAfter', renderDuration(settings.giveUpAfterMs)),
  ];
}

function waitRows(settings: Settings, from: RowOf): Row[] {
  const { waitMs, retries, conflictExitCode, jitterMs, holdAtLeastMs, holdOn } = settings;
  const { maxWaiters } = settings;
  return [
    from('wait', 'wait', waitMs === null ? 'forever' : renderDuration(waitMs)),
    ...(retries === null
      ? []
      : [
          from('retry count', 'retryCount', String(retries.count)),
          from('retry delay', 'retryDelay', renderDuration(retries.delayMs)),
          from('retry jitter', 'retryJitter', renderDuration(retries.jitterMs)),
        ]),
    from('conflict exit code', 'conflictExitCode', String(conflictExitCode)),
    from('jitter', 'jitter', renderDuration(jitterMs)),
    from('hold at least', 'holdAtLeast', renderDuration(holdAtLeastMs)),
    ...(holdOn === 'always' ? [] : [from('hold on', 'holdOn', holdOn)]),
    ...(maxWaiters === null ? [] : [from('max waiters', 'maxWaiters', String(maxWaiters))]),
  ];
}

function recordRows(settings: Settings, from: RowOf): Row[] {
  const { note, label, url, historyBytes, sources } = settings;
  return [
    from('restart grace', 'restartGrace', renderDuration(settings.restartGraceMs)),
    from('differing masters', 'differingMasters', settings.differingMasters),
    from('fencing', 'fencing', yesNo(settings.isFenced)),
    from('history', 'history', yesNo(settings.hasHistory)),
    ...(sources.historyBytes === 'default'
      ? []
      : [from('history bytes', 'historyBytes', String(historyBytes))]),
    ...(note === null ? [] : [from('note', 'note', quoted(note, 200))]),
    ...(label === null ? [] : [from('label', 'label', quoted(label))]),
    ...(url === null ? [] : [{ label: 'url', value: url, source: 'the CI job' }]),
  ];
}

function runRows(settings: Settings, from: RowOf): Row[] {
  const { foreground, onLost, notify, maxRunMs } = settings;
  return [
    from('reentrant', 'reentrant', yesNo(settings.isReentrant)),
    from('foreground', 'foreground', foreground === null ? 'by terminal' : yesNo(foreground)),
    from('keep background', 'keepBackground', yesNo(settings.keepsBackground)),
    from('isolate', 'isolate', yesNo(settings.isIsolated)),
    ...(onLost === null ? [] : [from('on lost', 'onLost', quoted(onLost, 4096))]),
    ...(notify === null ? [] : [from('notify', 'notify', quoted(notify, 4096))]),
    from('max run', 'maxRun', maxRunMs === null ? 'none' : renderDuration(maxRunMs)),
  ];
}

function outputRows(settings: Settings, from: RowOf): Row[] {
  const { reportFile, configFile } = settings;
  const words = settings.command.map((word) => quoted(word, 4096));
  return [
    from('log format', 'logFormat', settings.logFormat),
    ...(reportFile === null ? [] : [from('report', 'report', quoted(reportFile, 4096))]),
    ...(configFile === null
      ? []
      : [{ label: 'config file', value: quoted(configFile, 4096), source: '' }]),
    ...[...settings.warnings, ...settings.minorWarnings.map(warningLine)].map((warning) => ({
      label: 'warning',
      value: warning,
      source: '',
    })),
    { label: 'command', value: `[${words.join(', ')}]`, source: 'argument COMMAND' },
  ];
}

function yesNo(is: boolean): string {
  return is ? 'yes' : 'no';
}

function mastersOf({ local, localDirectory, masters, sources }: Settings): Row[] {
  if (!local) {
    const count = masters.length;
    const rows = masters.map((master) => ({
      label: 'master',
      value: master.name,
      source: sources.masters ?? '',
    }));
    const quorum = { label: 'quorum', value: `${quorumOf(count)} of ${count}`, source: 'derived' };
    return count > 0 ? [...rows, quorum] : rows;
  }
  const directory = localDirectory === null ? '' : ` in ${quoted(localDirectory, 4096)}`;
  return [
    {
      label: 'masters',
      value: `local: this user's own on this machine${directory}`,
      source: sources.local ?? '',
    },
  ];
}
