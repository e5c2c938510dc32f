// The caller of this program: the user that it acts as, the page of the CI job that started it, and
// the trace that it is part of. Found without any setting; the system knows users by number.

import { readFileSync } from 'node:fs';
import os from 'node:os';
import { maxReasonChars } from '../lock/value.ts';

/** The number of the user that this process acts as; null on systems without such numbers. */
export function callerId(): number | null {
  return process.geteuid?.() ?? null;
}

/** The caller's own name; where there is none, as in containers, `uid 1000`. */
export function userName(): string {
  try {
    // Bun, in the standalone executable, only reads the environment.
    if (process.versions.bun === undefined) return os.userInfo().username;
  } catch {
    // The system does not list this user.
  }
  const uid = process.getuid?.();
  return nameOf(uid) ?? `uid ${uid ?? 'unknown'}`;
}

/** Another user: `nobody (uid 65534)`, or `uid 65534` where no name is found. */
export function userOf(uid: number): string {
  const name = nameOf(uid);
  return name === null ? `uid ${uid}` : `${name} (uid ${uid})`;
}

/** null: the system does not list this user, or keeps no such file. */
function nameOf(uid: number | undefined): string | null {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    const fields = lines.map((line) => line.split(':')).find(([, , id]) => id === String(uid));
    return fields?.[0] || null;
  } catch {
    return null;
  }
}

/**
 * The address of the CI job, without a login: GitHub, GitLab, Buildkite, CircleCI, Jenkins. null:
 * none, or one that is no web address or too long to be kept whole.
 */
export function ciJobUrl(environment: NodeJS.ProcessEnv): string | null {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository } = environment;
  const { GITHUB_RUN_ID: run, BUILDKITE_BUILD_URL: build, BUILDKITE_JOB_ID: job } = environment;
  const url = [
    server && repository && run && `${server}/${repository}/actions/runs/${run}`,
    environment.CI_JOB_URL,
    build && job ? `${build}#${job}` : build,
    environment.CIRCLE_BUILD_URL,
    environment.BUILD_URL,
  ].find((found) => found);
  if (!url || !/^https?:\/\/[!-~]+$/i.test(url)) return null;
  const shown = url.replace(/^(https?:\/\/)[^/?#]*@/i, '$1');
  // More is not kept in a holder record, and a part of an address leads nowhere.
  return shown.length <= maxReasonChars.url ? shown : null;
}

/**
 * The id of the trace in $TRACEPARENT, as W3C Trace Context has it: 32 hexadecimal digits; null:
 * none.
 */
export function traceIdOf({ TRACEPARENT: parent }: NodeJS.ProcessEnv): string | null {
  const [, version, traceId = ''] =
    /^([0-9a-f]{2})-([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/.exec(parent ?? '') ??
    [];
  return version === undefined || version === 'ff' || /^0+$/.test(traceId) ? null : traceId;
}
