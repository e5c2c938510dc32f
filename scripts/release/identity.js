// @ts-check
// What a release is called and where it lives. `repository` of package.json is the one place that
// says it; everything else is derived from it, or filled in from it by prepare-release.js.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../program.js';

/** The pages in which the owner of the repository has to be named. */
const pages = () => [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** @param {string} file in the checkout */
export const textOf = (file) => readFileSync(join(root, file), 'utf8');

/** @returns {{ version: string, repository: string | null }} `repository`: OWNER/NAME on GitHub */
export function identity() {
  const { version, repository } = JSON.parse(textOf('package.json'));
  const [, name = null] =
    /^git\+https:\/\/github\.com\/([^/]+\/[^/]+)\.git$/.exec(repository?.url ?? '') ?? [];
  return { version, repository: name };
}

/** The page of the project. @param {string} repository */
export const homeOf = (repository) => `https://github.com/${repository}`;

/**
 * The page of the project, for packages and the formula: where no repository is named yet, that of
 * the place from which the files are downloaded.
 * @param {string | null} url of the files; null: they have none
 */
export function projectHome(url) {
  const { repository } = identity();
  return repository === null ? (url ?? '').replace(/\/releases\/.*$/, '') : homeOf(repository);
}

/**
 * The section of a version in CHANGELOG.md, without its heading; null: there is none.
 * @param {string} version
 */
export function notesOf(version) {
  const text = textOf('CHANGELOG.md');
  const heading = `\n## ${version} (`;
  const start = text.indexOf(heading);
  if (start === -1) return null;
  const body = text.slice(text.indexOf('\n', start + heading.length));
  const end = body.indexOf('\n## ');
  return (end === -1 ? body : body.slice(0, end)).trim();
}

/** Every page with a gap that a release has to fill in. */
export const pagesWithGaps = () => pages().filter((file) => gaps.test(textOf(file)));

/** The owner of the repository; and what is said until there is a release. */
export const gaps = /\bOWNER\/redlock-run|<!-- unreleased -->/;

/**
 * Everything that keeps this checkout from being the release of a tag; empty: nothing.
 * @param {string} tag such as `v0.1.0`
 */
export function faultsOf(tag) {
  const { version, repository } = identity();
  const found = [];
  if (tag !== `v${version}`) found.push(`package.json: version: ${version}: the tag is ${tag}`);
  if (JSON.parse(textOf('package-lock.json')).version !== version)
    found.push(`package-lock.json: version: not ${version}`);
  if (repository === null) found.push('package.json: repository: missing: where is it on GitHub?');
  const [notes, heading] = [notesOf(version), `"## ${version} (DATE)"`];
  if (notes === null) found.push(`CHANGELOG.md: no heading ${heading}`);
  if (notes === '') found.push(`CHANGELOG.md: nothing below ${heading} (write what changed)`);
  for (const file of pagesWithGaps()) found.push(`${file}: OWNER, or what holds until a release`);
  return found;
}
