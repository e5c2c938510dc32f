// @ts-check
// `npm run release:prepare -- VERSION [--repository OWNER/NAME]`: writes the version, its heading
// in the changelog, and where the project lives, everywhere that a release needs them.
// `npm run release:prepare -- --check TAG`: whether this checkout is the release of that tag.
// docs/releasing.md has the whole of a release.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure, root, say, script } from './program.js';
import { faultsOf, homeOf, identity, pagesWithGaps, textOf } from './release/identity.js';

const usage = 'npm run release:prepare -- VERSION [--repository OWNER/NAME] | --check TAG';

await script(async () => {
  const { values, positionals } = words();
  const [version] = positionals;
  if (values.check !== undefined) return check(values.check);
  if (!version || !/^\d+\.\d+\.\d+$/.test(version))
    throw new Failure(64, `release:prepare: VERSION: missing, or not like 0.1.0 (usage: ${usage})`);
  const before = identity();
  const repository = values.repository ?? before.repository;
  if (!repository || !/^[\w-]+\/[\w.-]+$/.test(repository))
    throw new Failure(64, `release:prepare: --repository: missing: OWNER/NAME (usage: ${usage})`);
  writeManifests(version, repository);
  writeChangelog(version);
  writePages(before.version, version, repository);
  say(`${version}: look at git diff, commit it, and tag the commit v${version}`);
  return check(`v${version}`);
});

function words() {
  const text = /** @type {const} */ ({ type: 'string' });
  try {
    return parseArgs({ options: { repository: text, check: text }, allowPositionals: true });
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Failure(64, `release:prepare: ${message} (usage: ${usage})`);
  }
}

/** @param {string} tag */
function check(tag) {
  const found = faultsOf(tag);
  for (const one of found) say(`release:prepare: ${one}`);
  return found.length === 0 ? 0 : 78;
}

/** @param {string} file @param {string} text */
function write(file, text) {
  writeFileSync(join(root, file), text);
}

/** @param {string} version @param {string} repository */
function writeManifests(version, repository) {
  const manifest = JSON.parse(textOf('package.json'));
  const home = homeOf(repository);
  const places = {
    repository: { type: 'git', url: `git+${home}.git` },
    homepage: `${home}#readme`,
    bugs: `${home}/issues`,
  };
  // Where people look for them: behind the licence.
  const entries = Object.entries(manifest).filter(([key]) => !(key in places));
  const at = entries.findIndex(([key]) => key === 'license') + 1;
  const all = [...entries.slice(0, at), ...Object.entries(places), ...entries.slice(at)];
  write('package.json', asText(Object.fromEntries([...all, ['version', version]])));
  const lock = JSON.parse(textOf('package-lock.json'));
  lock.version = version;
  lock.packages[''].version = version;
  write('package-lock.json', asText(lock));
}

/** @param {object} value */
function asText(value) {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The changes since the last release become those of this one. @param {string} version */
function writeChangelog(version) {
  const text = textOf('CHANGELOG.md');
  if (text.includes(`\n## ${version} (`)) return;
  const heading = '\n## Unreleased\n';
  if (!text.includes(heading))
    throw new Failure(78, 'release:prepare: CHANGELOG.md: no "## Unreleased" (write what changed)');
  const today = new Date().toISOString().slice(0, 10);
  write('CHANGELOG.md', text.replace(heading, `${heading}\n## ${version} (${today})\n`));
}

/** @param {string} from @param {string} version @param {string} repository */
function writePages(from, version, repository) {
  for (const file of pagesWithGaps()) {
    const text = textOf(file).replace(/<!-- unreleased -->\n[\s\S]*?<!-- \/unreleased -->\n+/g, '');
    write(file, text.replaceAll('OWNER/redlock-run', repository));
  }
  const install = join('docs', 'install.md');
  write(install, textOf(install).replaceAll(from, version));
}
