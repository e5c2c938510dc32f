// The page of a CI job and the id of a trace, as environments name them.

import { expect, test } from 'vitest';
import { ciJobUrl, traceIdOf } from '../../../src/system/caller.ts';

const gitHub = { GITHUB_SERVER_URL: 'https://github.com', GITHUB_REPOSITORY: 'o/r' };

test.each([
  [{ ...gitHub, GITHUB_RUN_ID: '42' }, 'https://github.com/o/r/actions/runs/42'],
  [gitHub, null],
  [{ CI_JOB_URL: 'https://gitlab.com/g/p/-/jobs/7' }, 'https://gitlab.com/g/p/-/jobs/7'],
  [{ BUILD_URL: 'https://jenkins:8443/job/a/7/' }, 'https://jenkins:8443/job/a/7/'],
  [{ BUILDKITE_BUILD_URL: 'https://b.com/o/p/1', BUILDKITE_JOB_ID: 'j' }, 'https://b.com/o/p/1#j'],
  [{ BUILDKITE_BUILD_URL: 'https://b.com/o/p/1' }, 'https://b.com/o/p/1'],
  [{ CIRCLE_BUILD_URL: 'https://circleci.com/gh/o/r/7' }, 'https://circleci.com/gh/o/r/7'],
  [{ BUILD_URL: 'https://me:secret@jenkins/7' }, 'https://jenkins/7'],
  [{}, null],
  [{ BUILD_URL: '' }, null],
  [{ BUILD_URL: 'javascript:alert(1)' }, null],
  [{ BUILD_URL: 'https://a/\u001b[31m' }, null],
  [{ BUILD_URL: `https://a/${'x'.repeat(250)}` }, null],
])('%j: %j', (environment, expected) => {
  expect(ciJobUrl(environment)).toBe(expected);
});

const [trace, parent] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];

test.each([
  [`00-${trace}-${parent}-01`, trace],
  [`01-${trace}-${parent}-00-later`, trace],
  [`ff-${trace}-${parent}-01`, null],
  [`00-${'0'.repeat(32)}-${parent}-01`, null],
  [`00-${trace}-${'0'.repeat(16)}-01`, null],
  [`00-${trace.toUpperCase()}-${parent}-01`, null],
  [trace, null],
  [undefined, null],
])('TRACEPARENT %j: %j', (TRACEPARENT, expected) => {
  expect(traceIdOf({ TRACEPARENT })).toBe(expected);
});
