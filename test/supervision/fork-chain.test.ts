// A chain of processes (chains.ts) ends with the run, before the next holder starts. A dozen of
// them, which need most of a machine: crowd/chains.test.ts.

import { it } from 'vitest';
import { hasPerl } from '../servers/perl.ts';
import { endsInTime } from './chains.ts';

const chains = [
  ['forks', 'SIGTERM'],
  ['execs', 'SIGKILL'],
] as const;

it.skipIf(!hasPerl).concurrent.each(chains)(
  'one that %s: %s of redlock-run',
  async (way, signal) => {
    await endsInTime(1, way, signal);
  },
);
