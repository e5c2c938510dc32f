// Where a run comes from, as far as its environment tells: the page of the CI job, for people, and
// the trace that it is part of. Found without any setting.

/** More of an address is not kept, and a part of one leads nowhere. */
const mostUrlChars = 250;

/**
 * The address of the CI job, without a login: GitHub, GitLab, Buildkite, CircleCI, Jenkins. null:
 * none, or one that is no web address or too long to be kept whole.
 */
export function ciJobUrl(environment: NodeJS.ProcessEnv): string | null {
  const url = [
    gitHubRun(environment),
    environment.CI_JOB_URL,
    buildkiteJob(environment),
    environment.CIRCLE_BUILD_URL,
    environment.BUILD_URL,
  ].find((found) => found);
  if (!url || !/^https?:\/\/[!-~]+$/i.test(url)) return null;
  const shown = url.replace(/^(https?:\/\/)[^/?#]*@/i, '$1');
  return shown.length <= mostUrlChars ? shown : null;
}

function gitHubRun({
  GITHUB_SERVER_URL: server,
  GITHUB_REPOSITORY: repository,
  GITHUB_RUN_ID: run,
}: NodeJS.ProcessEnv): string | undefined {
  return server && repository && run ? `${server}/${repository}/actions/runs/${run}` : undefined;
}

function buildkiteJob({
  BUILDKITE_BUILD_URL: build,
  BUILDKITE_JOB_ID: job,
}: NodeJS.ProcessEnv): string | undefined {
  return build && job ? `${build}#${job}` : build;
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
