// Metrics in the text format of Prometheus. Pure.
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

import { printable } from '../../text/printable.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Metric {
  /** With the unit at its end: `redlock_held_seconds`. */
  readonly name: string;
  readonly help: string;
  /** All are gauges: a history is bounded, so what is counted in it may become less. */
  readonly type: 'gauge';
  readonly samples: readonly Sample[];
}

/** The longest value of a label, in characters. */
const mostLabelChars = 1_024;

/** Ends with a newline; a metric without samples has its HELP and TYPE all the same. */
export function renderMetrics(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ labels, value }) => `${name}${renderLabels(labels)} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

function renderLabels(labels: Sample['labels']): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Control characters become visible first, so that nothing but these two has to be escaped. */
function escaped(value: string): string {
  return printable(value, mostLabelChars).replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n');
}
