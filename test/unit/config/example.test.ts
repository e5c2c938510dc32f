// .redlockrc.example has every key of the table, with a valid value, its default and its
// environment twin.

import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { readConfigFile } from '../../../src/config/file.ts';
import {
  defaultTextOf,
  environmentName,
  isScalarKey,
  keyRow,
  keyTable,
  tlsKeys,
} from '../../../src/config/setting-table.ts';
import { runTimings } from '../../../src/lock/timings.ts';
import { renderDuration } from '../../../src/text/time.ts';

const example = readFileSync(new URL('../../../.redlockrc.example', import.meta.url), 'utf8');
// Prose is "# text"; a setting is "#key:", with "#  " in front of its further lines.
const uncommented = example.replace(/^#(?=[^ \n#]| {2})/gm, '');
const environment = { REDIS_PASSWORD: 'p' };
const read = (text: string) =>
  readConfigFile({ path: '/x/.redlockrc', text, mode: 0o644, isConfined: false }, environment);
const file = await read(uncommented);

/** The comment lines right above a key, as one line. */
function proseOf(key: string): string {
  const lines = example.split('\n');
  const end = lines.findIndex((line) => line.startsWith(`#${key}:`));
  let start = end;
  while (lines[start - 1]?.startsWith('# ')) start--;
  return lines
    .slice(start, end)
    .map((line) => line.slice(2))
    .join(' ');
}

it('sets nothing as it stands', async () => {
  const { layer, minorWarnings } = await read(example);
  expect([layer.values, layer.masters, minorWarnings]).toEqual([{}, [], []]);
});

it('has every key once, and no other', () => {
  const keys = [...uncommented.matchAll(/^(\w+):/gm)].map((match) => match[1]);
  expect(keys.toSorted()).toEqual(keyTable.map((row) => row.key).toSorted());
});

describe.each(keyTable.map((row) => row.key))('%s', (key) => {
  it('states its default', () =>
    expect(proseOf(key)).toContain(`Default: ${defaultTextOf(key)}. `));

  it('states its environment twin', () =>
    expect(proseOf(key)).toMatch(
      key === 'tls'
        ? /Environment: REDLOCK_CA_FILE, REDLOCK_CERT_FILE, REDLOCK_KEY_FILE, REDLOCK_SERVERNAME\.$/
        : new RegExp(`Environment: ${environmentName(key)}\\b`),
    ));

  it('says more than that', () => expect(proseOf(key).indexOf('Default: ')).toBeGreaterThan(30));
});

test.each(keyTable.filter((row) => keyRow(row.key).default !== undefined).map((row) => row.key))(
  '%s is shown with its default',
  (key) => {
    expect(isScalarKey(key) && file.layer.values[key]?.text).toBe(keyRow(key).default);
  },
);

it('shows the computed defaults that the default ttl gives', () => {
  const timings = runTimings(30_000, null, null);
  expect(file.layer.values.killAfter?.text).toBe(renderDuration(timings.graceMs));
  expect(file.layer.values.masterTimeout?.text).toBe(`${timings.masterTimeoutMs}ms`);
});

it('is read whole', () => {
  expect(file.layer.masters.map(({ text }) => text)).toHaveLength(3);
  expect(tlsKeys.filter((key) => file.layer.values[key] === undefined)).toEqual([]);
  expect(file.layer.values.password?.text).toBe('p');
});
