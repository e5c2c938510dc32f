// @ts-check
// .deb, .rpm and .apk, by nfpm, as packaging/nfpm.yaml says. The .apk, for Alpine, has the
// executable for musl.

import { join } from 'node:path';
import { root } from '../program.js';
import { executableFile, sharedFolder } from './executables.js';
import { guardFile } from './guards.js';
import { identity, projectHome } from './identity.js';
import { processors, systems } from './systems.js';
import { check, goTool } from './tools.js';
import { link, makeFolder, place, setTimes } from './tree.js';

const kinds = /** @type {const} */ (['deb', 'rpm', 'apk']);

/** @param {string} version */
export const packageNames = (version) =>
  kinds.flatMap((kind) => processors.map((processor) => packageName(kind, version, processor)));

/**
 * The name that each package manager expects.
 * @param {typeof kinds[number]} kind
 * @param {string} version
 * @param {typeof processors[number]} processor
 */
function packageName(kind, version, processor) {
  const other = processor === 'amd64' ? 'x86_64' : 'aarch64';
  if (kind === 'deb') return `redlock-run_${version}-1_${processor}.deb`;
  if (kind === 'rpm') return `redlock-run-${version}-1.${other}.rpm`;
  return `redlock-run-${version}-r1.${other}.apk`;
}

const summary = 'Run a command under a lock that spans machines';
const details = `One at a time across machines: redlock-run acquires a Redlock on a quorum of
independent Redis or Valkey masters, runs a command, extends the lock while
it runs, and releases it afterwards. redlockctl shows and breaks locks.`;

/** The maintainer and the page of the packages. @param {string | null} url of the files */
function about(url) {
  const { repository } = identity();
  const [owner = 'redlock-run'] = repository?.split('/') ?? [];
  return {
    RELEASE_MAINTAINER: `The redlock-run maintainers <${owner}@users.noreply.github.com>`,
    RELEASE_HOME: projectHome(url),
  };
}

/** @param {import('./parts.js').Release} release */
export async function makePackages({ version, epoch, out, work, url }) {
  const nfpm = await goTool('nfpm');
  for (const processor of processors) {
    for (const libc of /** @type {const} */ (['glibc', 'musl'])) {
      const system = systems.find((one) => one.processor === processor && one.libc === libc);
      if (system === undefined) throw new Error(`no executable for ${processor} on ${libc}`);
      const tree = join(work, 'packages', system.name);
      makeFolder(tree);
      place(executableFile(work, system), join(tree, 'redlock-run'), 0o755);
      place(guardFile(work, system), join(tree, 'redlock-guard'), 0o755);
      link(sharedFolder(work), join(tree, 'shared'));
      setTimes(tree, epoch);
      const env = {
        ...process.env,
        SOURCE_DATE_EPOCH: String(epoch),
        RELEASE_VERSION: version,
        RELEASE_PROCESSOR: processor,
        ...about(url),
      };
      for (const kind of kinds.filter((one) => (one === 'apk') === (libc === 'musl'))) {
        const target = join(out, packageName(kind, version, processor));
        const file = join(root, 'packaging', 'nfpm.yaml');
        // A line of its own each in .PKGINFO: of several lines the others would be fields.
        const description = kind === 'apk' ? summary : `${summary}\n${details}`;
        const words = ['package', '--packager', kind, '--config', file, '--target', target];
        await check(nfpm, words, {
          env: { ...env, RELEASE_DESCRIPTION: description },
          cwd: tree,
        });
      }
    }
  }
}
