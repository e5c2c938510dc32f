// The workflows and the action, as far as they can be judged without a runner: each action by its
// hash, no cache and no right too many in a release, and what two linters say. Of the .apk no
// linter is there but apk itself (release.test.ts).

import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '../..');
const folder = join(root, '.github/workflows');
const files = readdirSync(folder).map((name) => join(folder, name));
const text = (file: string) => readFileSync(file, 'utf8');

test.each(files)('%s: each action is pinned by its hash, with the version beside it', (file) => {
  const uses = text(file).match(/uses: .*/g) ?? [];
  expect(uses.length).toBeGreaterThan(0);
  const pinned = /^uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
  expect(uses.filter((line) => !pinned.test(line))).toEqual([]);
});

test('a release has no caches, and signs in a job that only signs', () => {
  const release = text(join(folder, 'release.yml'));
  expect(release).not.toMatch(/cache: (?!false)/);
  const { jobs } = parse(release);
  const mayAttest = Object.entries<{ permissions: object }>(jobs)
    .filter(([, { permissions }]) => 'attestations' in permissions)
    .map(([name]) => name);
  expect(mayAttest).toEqual(['attest']);
  for (const { run } of jobs.attest.steps) expect(run).toBeUndefined();
});

describe('linters, where they are installed', () => {
  const linters = [
    ['actionlint', '-version', ['-no-color', ...files]],
    ['zizmor', '--version', ['--offline', '--no-progress', folder, join(root, 'action.yml')]],
  ] as const;
  const isInstalled = (linter: string, word: string) => !spawnSync(linter, [word]).error;

  for (const [linter, version, args] of linters) {
    test.runIf(isInstalled(linter, version))(`${linter} finds nothing`, async () => {
      // Both exit with another code than 0 where they find something.
      const found = await promisify(execFile)(linter, args).catch((error) => error);
      expect({ code: found.code ?? 0, said: found.stdout }).toMatchObject({ code: 0 });
    });
  }
});
