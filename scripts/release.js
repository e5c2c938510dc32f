// @ts-check
// `npm run release -- --out DIR [--url URL] [--dry-run]`: makes everything that a release consists
// of, and prints it with sizes and checksums. Two runs on one commit give the same bytes: all times
// in the files are that of the commit. Go, apt-get and pip get what npm does not have, in exact
// versions, into the user's cache.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureBuilt } from './built.js';
import { ensureInstalled } from './installed.js';
import { Failure, root, run, say, script } from './program.js';
import { parts } from './release/parts.js';
import { checkTools } from './release/tools.js';
import { writeText } from './release/tree.js';

const usage = 'npm run release -- --out DIR [--url URL] [--dry-run]';

await script(async () => {
  const { out, url, isDry } = readWords();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const chosen = parts.filter(({ needsUrl }) => !needsUrl || url !== null);
  if (isDry) {
    const names = chosen.flatMap(({ files }) => files(version));
    process.stdout.write([...names, 'SHA256SUMS'].map((name) => `${name}\n`).join(''));
    return 0;
  }
  await checkTools();
  process.umask(0o022); // The modes of folders are in the archives.
  const epoch = await commitTime();
  prepareFolder(out);
  await ensureInstalled();
  await ensureBuilt();
  const work = mkdtempSync(join(tmpdir(), 'redlock-run-release-'));
  try {
    const release = { version, epoch, out, work, url };
    for (const part of chosen) {
      say(`${part.name} ...`);
      await part.make(release);
    }
    const sums = checksums(out);
    writeText(join(out, 'SHA256SUMS'), sums.map(({ sum, name }) => `${sum}  ${name}\n`).join(''));
    const lines = sums.map(
      ({ sum, size, name }) => `${sum}  ${String(size).padStart(9)}  ${name}\n`,
    );
    process.stdout.write(lines.join(''));
    return 0;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
});

/** @returns {{ out: string, url: string | null, isDry: boolean }} */
function readWords() {
  const { out, url, ...others } = parsed();
  if (!out) throw new Failure(64, `release: --out: missing: where to? (usage: ${usage})`);
  if (url !== undefined && !URL.canParse(url))
    throw new Failure(64, `release: --url: ${url}: no URL (where the files can be downloaded)`);
  return {
    out: resolve(process.env.INIT_CWD ?? '.', out),
    url: url?.replace(/\/$/, '') ?? null,
    isDry: others['dry-run'] ?? false,
  };
}

function parsed() {
  const text = /** @type {const} */ ({ type: 'string' });
  const flag = /** @type {const} */ ({ type: 'boolean' });
  try {
    return parseArgs({ options: { out: text, url: text, 'dry-run': flag } }).values;
  } catch (error) {
    throw new Failure(64, `release: ${/** @type {Error} */ (error).message} (usage: ${usage})`);
  }
}

/** A folder of its own, so that SHA256SUMS has the files of this release and no others. */
function prepareFolder(/** @type {string} */ out) {
  mkdirSync(out, { recursive: true });
  if (readdirSync(out).length > 0)
    throw new Failure(73, `release: --out: ${out}: not empty (name a new folder)`);
}

/** The time of the commit in seconds since 1970, or $SOURCE_DATE_EPOCH. */
async function commitTime() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given) return Number(given);
  const git = (/** @type {string[]} */ ...words) => run('git', words, { notice: 'git ...' });
  const { code, output } = await git('log', '-1', '--format=%ct');
  if (code !== 0)
    throw new Failure(69, `release: no commit here (set SOURCE_DATE_EPOCH): ${output.trim()}`);
  const { output: changes } = await git('status', '--porcelain', '--untracked-files=no');
  if (changes !== '') say('release: files differ from the commit: this is for tests only');
  return Number(output);
}

/** @param {string} folder */
function checksums(folder) {
  return readdirSync(folder)
    .sort()
    .map((name) => ({
      name,
      size: statSync(join(folder, name)).size,
      sum: createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    }));
}
