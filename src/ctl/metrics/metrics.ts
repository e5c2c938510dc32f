// `redlockctl metrics [--textfile FILE]`: the locks under the prefix for Prometheus, to stdout, or
// in one step into a file for the textfile collector of the node exporter. It changes nothing on
// the masters.

import { statSync } from 'node:fs';
import { replaceFile } from '../../cli/report.ts';
import { quorumOf } from '../../lock/quorum.ts';
import { fileError } from '../../text/errors.ts';
import { exitCode } from '../../text/exit-codes.ts';
import { jsonLine } from '../../text/json.ts';
import { quoted } from '../../text/quote.ts';
import type { Call } from '../call.ts';
import { allLines, pastOf } from '../history/history.ts';
import { MasterQuery } from '../master-query.ts';
import { type Metric, renderMetrics } from './exposition.ts';
import { metricsOf } from './lock-metrics.ts';

export async function metrics({ words, settings, clock, print, tell }: Call): Promise<number> {
  const query = await MasterQuery.of(settings, clock);
  const nowMs = Date.now();
  const past = await pastOf(query, null, allLines, nowMs);
  const graceFailures = await query.ask(
    async (observer) => (await observer.graceFailure()) ?? { kind: 'up' },
  );
  const masters = query.observers.map(({ name }, at) => {
    const graceFailure = graceFailures[at];
    const failed = graceFailure !== undefined && 'cause' in graceFailure ? graceFailure : null;
    return { name, failed: query.failures()[at] ?? failed };
  });
  for (const { name, failed } of masters) if (failed !== null) tell(`${name}: ${failed.message}`);
  const found = metricsOf({ masters, ...past, nowMs });
  const file = words.textOf('--textfile');
  const problem = file === null ? null : write(file, found);
  if (problem !== null) {
    tell(problem);
    return exitCode.output;
  }
  if (words.has('--json')) print(jsonLine({ metrics: found }));
  else if (file === null) print(renderMetrics(found));
  if (masters.some(({ failed }) => failed?.cause === 'unfit')) return exitCode.config;
  const upCount = masters.filter(({ failed }) => failed === null).length;
  return upCount < quorumOf(masters.length) ? exitCode.unreachable : exitCode.ok;
}

/** Returns one line that says why it could not be written, or null. */
function write(file: string, found: readonly Metric[]): string | null {
  try {
    replaceFile(file, renderMetrics(found), modeOf(file));
    return null;
  } catch (error) {
    return `--textfile: ${quoted(file)}: ${fileError(error, 'written')}`;
  }
}

/** null: there is no such file yet. */
function modeOf(file: string): number | null {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? null : mode & 0o777;
}
