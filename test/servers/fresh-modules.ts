// For a suite whose files share processes: a file finds nothing that another has left. Its modules
// are its own, with their masters, counters and hooks; its scratch folder goes when it is over.

import { afterAll, vi } from 'vitest';

vi.resetModules();
const { removeScratch } = await import('./watchdog.ts');
// Registered first, so called last: after the file has stopped what it started.
afterAll(removeScratch);
