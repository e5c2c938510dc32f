// The clocks that a process of ours reads: those of any program, and that of the kernel with its
// alarm, where it can be had.

import { loadBootClock } from '../run/processes/libc.ts';
import { type ClockSources, systemSources } from '../system/clock.ts';

export function loadClockSources(): ClockSources {
  return { ...systemSources, ...loadBootClock() };
}
