// Whether perl is here. It makes processes as a shell cannot, and starts sooner than Node.

import { spawnSync } from 'node:child_process';

export const hasPerl = !spawnSync('perl', ['-v']).error;
