// The workflows and the action, as far as they can be judged without a runner: each action by its
// hash, no cache and no right too many in a release, and what two linters say; these, the GitLab
// component and compose.yaml by their schemas. Of the .apk no linter is there but apk itself
// (release.test.ts).

import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { scratchFolder } from '../servers/watchdog.ts';

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

/** The two documents of the component, each in a file: its inputs, and its job. */
function component(): string[] {
  const folder = mkdtempSync(join(scratchFolder(), 'component-'));
  const documents = text(join(root, 'packaging/gitlab-component.yml')).split('\n---\n');
  expect(documents).toHaveLength(2);
  return documents.map((document, index) => {
    const file = join(folder, `${index}.yml`);
    writeFileSync(file, document);
    return file;
  });
}

describe('linters, where they are installed', () => {
  const schema = (name: string) => ['--builtin-schema', `vendor.${name}`];
  const [action, compose] = ['action.yml', 'compose.yaml'].map((name) => join(root, name));
  const linters: [name: string, version: string, about: string, args: () => unknown[]][] = [
    ['actionlint', '-version', 'the workflows', () => ['-no-color', ...files]],
    ['zizmor', '--version', 'all', () => ['--offline', '--no-progress', folder, action]],
    ['check-jsonschema', '--version', 'action.yml', () => [...schema('github-actions'), action]],
    ['check-jsonschema', '--version', 'compose.yaml', () => [...schema('compose-spec'), compose]],
    ['check-jsonschema', '--version', 'GitLab', () => [...schema('gitlab-ci'), ...component()]],
  ];
  const isInstalled = (linter: string, word: string) => !spawnSync(linter, [word]).error;

  for (const [linter, version, about, args] of linters) {
    test.runIf(isInstalled(linter, version))(`${linter} finds nothing: ${about}`, async () => {
      // Each exits with another code than 0 where it finds something.
      const found = await promisify(execFile)(linter, args() as string[]).catch((error) => error);
      expect({ code: found.code ?? 0, said: found.stdout }).toMatchObject({ code: 0 });
    });
  }
});
