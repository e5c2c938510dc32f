// @ts-check
// One archive for each system: bin/, share/ and the licences, to be unpacked over /usr/local or to
// be linked from there, as Homebrew does.

import { join } from 'node:path';
import { executableFile, sharedFolder } from './executables.js';
import { guardFile } from './guards.js';
import { systems } from './systems.js';
import { link, makeFolder, place, setTimes, tar } from './tree.js';

/**
 * @param {string} version
 * @param {{ name: string }} system
 */
export const archiveName = (version, { name }) => `redlock-run-${version}-${name}.tar.gz`;

/** @param {import('./parts.js').Release} release */
export async function makeArchives({ version, epoch, out, work }) {
  const shared = sharedFolder(work);
  for (const system of systems) {
    const file = archiveName(version, system);
    const name = file.replace('.tar.gz', '');
    const tree = join(work, 'archives', name);
    const share = join(tree, 'share');
    place(executableFile(work, system), join(tree, 'bin', 'redlock-run'), 0o755);
    place(guardFile(work, system), join(tree, 'bin', 'redlock-guard'), 0o755);
    link('redlock-run', join(tree, 'bin', 'redlockctl'));
    for (const [from, to] of Object.entries(filesOfShare))
      place(join(shared, from), join(share, to));
    for (const [path, target] of Object.entries(linksOfShare)) link(target, join(share, path));
    const documents = join(share, 'doc', 'redlock-run');
    for (const file of ['LICENSE', 'LICENSES.txt', 'CHANGELOG.md', 'redlockrc.example'])
      place(join(shared, file), join(documents, file));
    makeFolder(tree);
    setTimes(tree, epoch);
    await tar({ folder: join(work, 'archives'), entry: name, file: join(out, file), epoch });
  }
}

const bash = 'bash-completion/completions';
const fish = 'fish/vendor_completions.d';

const filesOfShare = {
  'man/redlock-run.1.gz': 'man/man1/redlock-run.1.gz',
  'man/redlockctl.1.gz': 'man/man1/redlockctl.1.gz',
  'man/redlockrc.5.gz': 'man/man5/redlockrc.5.gz',
  'completion/bash': `${bash}/redlockctl`,
  'completion/zsh': 'zsh/site-functions/_redlockctl',
  'completion/fish': `${fish}/redlockctl.fish`,
};

/** Shells look for a file with the name of the program. */
const linksOfShare = {
  [`${bash}/redlock-run`]: 'redlockctl',
  [`${fish}/redlock-run.fish`]: 'redlockctl.fish',
};
