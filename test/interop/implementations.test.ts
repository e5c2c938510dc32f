// Other lock libraries and ours on the same key: each excludes the other, sees its value, leaves it
// alone, and is let in afterwards. `npm run interop -- NAME...` names the libraries; CI runs those
// of npm and Go. One that cannot be run here is told by name and reason, and counted as skipped; if
// it was asked for by name, that is a failure.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startMasters, stopAll, type TestMaster } from '../servers/masters.ts';
import { checks } from './checks.ts';
import { implementationsWith } from './implementations.js';
import { installed } from './install.ts';
import { type Row, report } from './page.ts';
import { Rig } from './rig.ts';
import type { Plan } from './section.ts';

const wanted = (process.env.INTEROP ?? '').split(',').filter(Boolean);
const isAll = wanted.includes('all');
const known = implementationsWith(process.env.INTEROP_SOURCES);
const chosen = known.filter(({ name, registry }) =>
  wanted.length === 0 ? ['npm', 'Go'].includes(registry) : isAll || wanted.includes(name),
);
/** The number of times that each has to enter the shared section is for the page of results. */
const factor = Number(process.env.INTEROP_SECTIONS ?? 1);
const plan: Plan = {
  shares: { theirs: 20 * factor, program: 5 * factor, library: 20 * factor },
  workMs: 10,
  limitMs: 60_000 * factor,
};

let masters: TestMaster[] = [];
let rig: Rig | undefined;
beforeAll(async () => {
  masters = await startMasters(3, { transport: 'tcp' }); // Java has no unix sockets here.
});
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});
const rows: Row[] = [];
afterAll(async () => {
  await report(rows);
  // Not nothingLeft(): in so long a run, the pid of a master that was killed is used again.
  await stopAll();
});

describe.each(chosen.map((one) => [one.title, one] as const))('17. %s', (_, implementation) => {
  const outcome = installed(implementation);
  const row: Row = { implementation, reason: null, passed: 0, failed: 0, sections: null };
  rows.push(row);
  if ('reason' in outcome) {
    row.reason = outcome.reason;
    const title = `not run: ${outcome.reason}`;
    if (isAll || wanted.length === 0) test.skip(title);
    else test(title, () => expect.fail(title));
    return;
  }
  for (const { title, run } of checks.filter(({ applies }) => applies?.(implementation) ?? true)) {
    test(
      title,
      async () => {
        rig = new Rig(outcome, masters);
        row.failed += 1;
        const current = rig;
        const sections = await run(current, plan).catch((error) => {
          error.message += `\n${current.said()}`;
          throw error;
        });
        row.failed -= 1;
        row.passed += 1;
        row.sections ??= sections ?? null;
      },
      240_000 + plan.limitMs,
    );
  }
});
