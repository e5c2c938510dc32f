// The real guard keeps its contract: see cases.ts.

import { afterAll, describe, expect, it } from 'vitest';
import { cases } from './cases.ts';
import { closeAll, RealGuard } from './real-guard.ts';

const jobScript = `${import.meta.dirname}/fixtures/job.sh`;

afterAll(closeAll);

describe('the contract of a guard', () => {
  for (const one of cases) {
    it.concurrent(one.title, async () => {
      const { job = {}, events = [], ...start } = one;
      const { onStop = 'dies', children = 0, sessions = 0 } = job;
      const command = ['sh', jobScript, onStop, String(children), String(sessions)];
      const guard = new RealGuard(command, start);
      await guard.ready();
      for (const event of events) await guard.happens(event);
      await guard.gone();
      const reports = guard.reports.filter((report) => !report.startsWith('started'));
      expect(reports).toEqual(one.reports);
    });
  }
});
