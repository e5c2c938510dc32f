// Checks docs/coming-from.md: every command line of redlock-run in its tables is run, on masters
// where another client holds `busy`, and exits as the row says. Every option of the other tools has
// a row.

import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { generous } from '../servers/patience.ts';
import { pathOf } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { environmentFor, interpreter, takeBy, useMasters } from './rig.ts';

const page = readFileSync(new URL('../../docs/coming-from.md', import.meta.url), 'utf8');
const { masters } = useMasters(3);

interface Row {
  readonly theirs: string;
  /** null: there is none. */
  readonly ours: string | null;
  readonly code: number;
}

/** The rows under each heading. */
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({
    title: text.split('\n', 1)[0] ?? '',
    rows: text
      .split('\n')
      .filter((line) => line.startsWith('| '))
      .slice(2)
      .map(rowOf),
  }))
  .filter(({ rows }) => rows.length > 0);

function rowOf(line: string): Row {
  const [, theirs = '', ours = '', code = ''] = line
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));
  return {
    theirs,
    ours: ours === 'none' ? null : ours.replace(/^`(.*)`$/, '$1'),
    code: Number(code),
  };
}

/** The options and variables of each tool that concern locks. */
const options: Readonly<Record<string, string>> = {
  flock:
    '-s --shared -e -x --exclusive -u --unlock -n --nb --nonblock --nonblocking -w --wait ' +
    '--timeout -E --conflict-exit-code -o --close -F --no-fork -c --command --fcntl --start ' +
    '--length --verbose -h --help -V --version',
  timeout:
    '-k --kill-after -s --signal --foreground --preserve-status -v --verbose --help --version',
  consul:
    '-child-exit-code -n -monitor-retry -name -pass-stdin -shell -timeout -try -verbose ' +
    '-http-addr -token -token-file -ca-file CONSUL_LOCK_HELD',
  etcdctl:
    '--ttl --endpoints --user --password --cacert --cert --key --dial-timeout ' +
    '--command-timeout ETCD_LOCK_KEY ETCD_LOCK_REV',
  solo: 'solo lockrun cronlock redis-setlock',
};

let folder: string;
let env: Record<string, string>;

beforeEach(async () => {
  folder = mkdtempSync(join(scratchFolder(), 'coming-from-'));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const place = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  for (const name of ['redlock-run', 'redlockctl'])
    place(name, `exec '${interpreter}' '${pathOf(name)}' "$@"`);
  place('job', 'echo done');
  // Stands for a lock that is broken, and for a master that forgets it.
  place('steal', 'redlockctl break "$1" --yes >&2');
  const [first] = masters;
  env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: folder,
    MASTER: first?.url ?? '',
    ...environmentFor(masters),
  };
  await takeBy('them', masters, 'busy');
});

describe.each(sections)('$title', ({ title, rows }) => {
  test.each(rows.filter(({ ours }) => ours !== null))('$theirs: $ours', ({ ours, code }) => {
    const result = spawnSync('sh', ['-c', ours ?? ''], {
      cwd: folder,
      env,
      encoding: 'utf8',
      timeout: generous(20_000),
    });
    expect([result.status, result.stderr]).toEqual([code, expect.any(String)]);
    const hasJob = /\b(job|cat)\b/.test(ours ?? '') && !/--dry-run/.test(ours ?? '');
    if (hasJob)
      expect(result.stdout).toMatch(code === 0 && !ours?.includes('busy') ? /^done$/m : /^$/);
  });

  test('has a row for every option', () => {
    const names = Object.entries(options).find(([tool]) => title.includes(tool))?.[1] ?? '';
    const theirs = rows.map((row) => row.theirs).join(' ');
    const missing = names
      .split(' ')
      .filter(
        (name) => !new RegExp(`(^|[\\s\`])${name}\\b`).test(theirs) && !isBundled(name, theirs),
      );
    expect(missing).toEqual([]);
    expect(names).not.toBe('');
  });
});

/** A short option inside of a group, such as -x in -nx. */
function isBundled(name: string, text: string): boolean {
  return /^-\w$/.test(name) && new RegExp(`\\s-\\w*${name[1]}`).test(text);
}
