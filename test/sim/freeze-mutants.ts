// Mutants of a person's lock: seen as free, thawed by another one's thaw, forgotten.

import { inScript, inSource, type Mutant, rarely, within } from './mutant.ts';

export const freezeMutants: readonly Mutant[] = [
  inScript(
    'freeze-seen-as-free',
    'a master grants a lock that is frozen there',
    within(10, 'frozen', 'barred'),
  ),
  inScript(
    'thaw-without-comparing',
    'a thaw removes whatever freeze is there',
    within(60, 'frozen', 'barred'),
  ),
  inScript(
    'freeze-forgotten',
    'a master forgets a freeze soon after it has confirmed it',
    within(20, 'frozen', 'barred'),
  ),
  inSource(
    'frozen-by-one',
    'one master that shows a freeze is enough to report it',
    rarely(20, 'frozen', 'barred'),
    'ctl/people/freezing.ts',
    "if (count >= quorum) return { kind: 'frozen', count };",
    "if (count >= Math.min(1, quorum)) return { kind: 'frozen', count };",
  ),
];
