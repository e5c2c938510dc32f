// What --dry-run prints on stdout: the settings of one run as aligned text for people. The command
// is shown as JSON, so that an empty argument or a trailing space is visible.

import type { Settings } from '../config/settings.ts';
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

function rowsOf(settings: Settings): Row[] {
  const { ttlMs, masters } = settings;
  const from = (label: string, key: string, value: string): Row => ({
    label,
    value,
    source: settings.sources[key] ?? '',
  });
  const derived = (label: string, durationMs: number): Row => ({
    label,
    value: renderDuration(durationMs),
    source: 'derived',
  });
  const limit = (durationMs: number | null, word: string) =>
    durationMs === null ? word : renderDuration(durationMs);
  return [
    ...settings.names.flatMap((name) => [
      { label: 'name', value: quoted(name), source: 'argument NAME' },
      from('key', 'prefix', quoted(settings.prefix + name)),
    ]),
    ...(settings.sharing === 'shared' ? [from('shared', 'shared', 'yes')] : []),
    ...(settings.sharing === 'slots' ? [from('slots', 'slots', String(settings.slotCount))] : []),
    ...(settings.preemptible === 'position' ? [from('supersede', 'supersede', 'yes')] : []),
    ...(settings.preemptible === 'lock' ? [from('replace', 'replace', 'yes')] : []),
    ...(settings.protocol === 'redlock' ? [] : [from('protocol', 'protocol', settings.protocol)]),
    ...mastersOf(settings),
    ...(masters.length > 0
      ? [
          {
            label: 'quorum',
            value: `${quorumOf(masters.length)} of ${masters.length}`,
            source: 'derived',
          },
        ]
      : []),
    from('ttl', 'ttl', renderDuration(ttlMs)),
    derived('drift', driftMsOf(ttlMs)),
    derived('extend every', settings.extendEveryMs),
    derived('stop at', stopAtMsOf(settings)),
    from('stop signal', 'signal', settings.stopSignal),
    from('kill after', 'killAfter', renderDuration(settings.graceMs)),
    derived('margin', settings.marginMs),
    from('master timeout', 'masterTimeout', renderDuration(settings.masterTimeoutMs)),
    from('give up after', 'giveUpAfter', renderDuration(settings.giveUpAfterMs)),
    from('wait', 'wait', limit(settings.waitMs, 'forever')),
    ...(settings.retries === null
      ? []
      : [
          from('retry count', 'retryCount', String(settings.retries.count)),
          from('retry delay', 'retryDelay', renderDuration(settings.retries.delayMs)),
          from('retry jitter', 'retryJitter', renderDuration(settings.retries.jitterMs)),
        ]),
    from('conflict exit code', 'conflictExitCode', String(settings.conflictExitCode)),
    from('jitter', 'jitter', renderDuration(settings.jitterMs)),
    from('hold at least', 'holdAtLeast', renderDuration(settings.holdAtLeastMs)),
    ...(settings.holdOn === 'always' ? [] : [from('hold on', 'holdOn', settings.holdOn)]),
    ...(settings.maxWaiters === null
      ? []
      : [from('max waiters', 'maxWaiters', String(settings.maxWaiters))]),
    from('restart grace', 'restartGrace', renderDuration(settings.restartGraceMs)),
    from('differing masters', 'differingMasters', settings.differingMasters),
    from('fencing', 'fencing', settings.isFenced ? 'yes' : 'no'),
    from('history', 'history', settings.hasHistory ? 'yes' : 'no'),
    ...(settings.sources.historyBytes === 'default'
      ? []
      : [from('history bytes', 'historyBytes', String(settings.historyBytes))]),
    ...(settings.note === null ? [] : [from('note', 'note', quoted(settings.note, 200))]),
    ...(settings.label === null ? [] : [from('label', 'label', quoted(settings.label))]),
    ...(settings.url === null ? [] : [{ label: 'url', value: settings.url, source: 'the CI job' }]),
    from('reentrant', 'reentrant', settings.isReentrant ? 'yes' : 'no'),
    from(
      'foreground',
      'foreground',
      settings.foreground === null ? 'by terminal' : settings.foreground ? 'yes' : 'no',
    ),
    from('keep background', 'keepBackground', settings.keepsBackground ? 'yes' : 'no'),
    from('isolate', 'isolate', settings.isIsolated ? 'yes' : 'no'),
    ...(settings.onLost === null ? [] : [from('on lost', 'onLost', quoted(settings.onLost, 4096))]),
    ...(settings.notify === null ? [] : [from('notify', 'notify', quoted(settings.notify, 4096))]),
    from('max run', 'maxRun', limit(settings.maxRunMs, 'none')),
    from('log format', 'logFormat', settings.logFormat),
    ...(settings.reportFile === null
      ? []
      : [from('report', 'report', quoted(settings.reportFile, 4096))]),
    ...(settings.configFile === null
      ? []
      : [{ label: 'config file', value: quoted(settings.configFile, 4096), source: '' }]),
    ...[...settings.warnings, ...settings.minorWarnings].map((warning) => ({
      label: 'warning',
      value: warning,
      source: '',
    })),
    {
      label: 'command',
      value: `[${settings.command.map((word) => quoted(word, 4096)).join(', ')}]`,
      source: 'argument COMMAND',
    },
  ];
}

function mastersOf({ local, localDirectory, masters, sources }: Settings): Row[] {
  if (!local)
    return masters.map((master) => ({
      label: 'master',
      value: master.name,
      source: sources.masters ?? '',
    }));
  const directory = localDirectory === null ? '' : ` in ${quoted(localDirectory, 4096)}`;
  return [
    {
      label: 'masters',
      value: `local: this user's own on this machine${directory}`,
      source: sources.local ?? '',
    },
  ];
}
