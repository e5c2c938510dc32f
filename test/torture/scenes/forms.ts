// Other forms of lock: shared and exclusive holders of one name, slots, several names at once, and
// locks that are kept after the command. Which form a lock has follows from its name.

import type { Scene } from '../scenes.ts';

export const forms: Scene = {
  name: 'forms of lock',
  isPossible: () => true,
  // No clock that is set: a lock that several hold stands on all masters for each of them.
  masters: ['forgets', 'keeps'],
  planned: (plan, random) => {
    const { lock, flags } = plan;
    const keep = random.chance(0.2) ? ['--hold-at-least', `${random.integer(500, 2_000)}ms`] : [];
    const formed = { ...plan, flags: [...flags, ...keep] };
    if (lock.endsWith('a')) {
      if (random.chance(0.3)) return formed;
      return { ...formed, form: 's', flags: [...formed.flags, '--shared'] };
    }
    if (lock.endsWith('b')) return { ...formed, flags: [...formed.flags, '--slots', '2'] };
    const base = lock.slice(0, -1);
    return random.chance(0.5) ? formed : { ...formed, lock: `${base}c,${base}d` };
  },
  faults: {},
  ttlsMs: [3_000, 4_000],
  mistake: {
    name: 'shared-beside-exclusive',
    breaks: 'a master grants a shared lock beside an exclusive holder',
    edits: [
      {
        file: 'redis/scripts/lock.lua',
        from: "(mode == '' or holder ~= mode)",
        to: "mode == ''",
      },
    ],
  },
};
