// A dozen chains of processes end with the run, before the next holder starts.

import { it } from 'vitest';
import { endsInTime } from '../supervision/chains.ts';

it('a dozen at a time: SIGKILL of redlock-run', () => endsInTime(12, 'forks', 'SIGKILL'));
