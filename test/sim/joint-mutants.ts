// Mutants of shared locks, slots, several names, and preemption. A mistake that shows in no fair
// world is not here: a holder that outlives a key deleted by hand is caught by the contract suite
// alone.

import { alsoInScript, inScript, inSource, type Mutant, rarely, within } from './mutant.ts';

export const jointMutants: readonly Mutant[] = [
  inScript(
    'shared-beside-a-writer',
    'a lock is shared while one holds it alone',
    rarely(10, 'readers-and-writers', 'ownership', 'exclusion'),
    'lock.lua',
    "(mode == '' or holder ~= mode) then",
    "(mode == '' or holder ~= mode)\n" +
      "      and (mode ~= 'shared' or string.find(holder, '^slots ')) then",
  ),
  inScript(
    'writer-beside-readers',
    'a lock is granted to one alone while others share it',
    rarely(20, 'several-names', 'ownership', 'exclusion'),
    'lock.lua',
    "(mode == '' or holder ~= mode) then",
    "holder ~= (mode == '' and 'shared' or mode) then",
  ),
  inScript(
    'mode-not-renewed',
    'an extension by a holder that shares does not lengthen the key',
    rarely(10, 'readers-and-writers', 'honesty'),
    'parts.lua',
    "redis.call('SET', KEYS[i], mode, 'PX', lastMs)",
    "redis.call('SET', KEYS[i], mode, 'NX', 'PX', lastMs)",
  ),
  inScript(
    'release-of-all-readers',
    'a release by a holder that shares removes the key of all',
    rarely(10, 'readers-and-writers', 'ownership', 'honesty'),
    'lock.lua',
    'local lastMs = last_end(i)',
    "local lastMs = mode == 'shared' and 0 or last_end(i)",
  ),
  inScript(
    'kept-holder-stays',
    'what is left of a holder that shares, for a while, never ends beside the key',
    within(20, 'readers-and-writers', 'litter'),
    'lock.lua',
    "          redis.call('PEXPIRE', holders(i), lastMs)\n",
    '',
  ),
  inScript(
    'readers-pass-the-writer',
    'a reader passes a waiting writer',
    rarely(10, 'readers-and-writers', 'order', 'served'),
    'lock.lua',
    "if mode ~= 'shared' or not has(other, 'shared') then",
    "if mode ~= 'shared' then",
  ),
  inScript(
    'reader-wakes-no-reader',
    'a reader does not wake the next reader',
    rarely(60, 'readers-and-writers', 'handOver'),
    'lock.lua',
    'ipairs(hasRoom and waiters(i) or {})',
    'ipairs({})',
  ),
  inScript(
    'sharer-woken-alone',
    'one reader is woken alone, and may have to wait for another name',
    rarely(60, 'all-forms', 'handOver'),
    'queue.lua',
    "holder == false or holder == 'shared', 0",
    'false, 0',
  ),
  inScript(
    'earlier-end-untold',
    'the last reader of a chain of wake-ups leaves without one',
    rarely(60, 'readers-and-writers', 'handOver'),
    'lock.lua',
    "lastMs <= keepMs or lastMs < beforeMs or mode ~= 'shared'",
    "lastMs <= keepMs or mode ~= 'shared'",
  ),
  alsoInScript(
    inScript(
      'slots-counted',
      'a master grants as long as it sees fewer holders than slots',
      within(20, 'slots', 'exclusion', 'ownership'),
      'lock.lua',
      'if not isTaken[tostring(number)] then',
      'if #living(1) < slotCount then',
    ),
    'parts.lua',
    "if one.slot == slot and slot ~= '0' then return 0 end\n",
    '',
  ),
  inScript(
    'slot-not-looked-at',
    'a slot is granted twice',
    within(10, 'slots', 'ownership', 'exclusion'),
    'lock.lua',
    'if slotCount > 0 and not isOnFreeSlot then',
    'if slotCount < 0 then',
  ),
  inScript(
    'any-number-of-slots',
    'a client with another number of slots is granted the lock',
    rarely(60, 'slots', 'exclusion', 'ownership', 'honesty'),
    'lock.lua',
    "(mode == '' or holder ~= mode) then",
    "(mode == '' or holder ~= mode)\n" +
      "      and not (string.find(mode, '^slots ') and string.find(holder, '^slots ')) then",
  ),
  inScript(
    'repair-beside-the-slot-of-another',
    'a repair puts its holder on the slot of another',
    rarely(60, 'slots', 'ownership'),
    'parts.lua',
    "if one.slot == slot and slot ~= '0' then return 0 end\n",
    '',
  ),
  inScript(
    'names-first-only',
    'the first name is granted although the second is refused',
    rarely(10, 'several-names', 'honesty', 'exclusion'),
    'lock.lua',
    'if blocker then return refuse(',
    'if blocker and not current[1] then\n' +
      '    hold(1)\n' +
      "    return {1, keep == '0' and 0 or fence + 1}\n" +
      '  end\n' +
      '  if blocker then return refuse(',
  ),
  inScript(
    'names-one-by-one',
    'the names that are free are held while another is refused',
    within(20, 'several-names', 'litter', 'liveness'),
    'lock.lua',
    'if blocker then return refuse(',
    'for i = 1, blocker and count or 0 do\n' +
      '    if not current[i] then hold(i) end\n' +
      '  end\n' +
      '  if blocker then return refuse(',
  ),
  inScript(
    'names-released-first-only',
    'only the first name is released',
    within(10, 'several-names', 'litter'),
    'lock.lua',
    'if state == 1 then',
    'if state == 1 and i == 1 then',
  ),
  alsoInScript(
    inScript(
      'fence-of-the-first-name',
      'only the first name counts',
      rarely(20, 'several-names', 'fence'),
      'lock.lua',
      "for i = 1, keep == '0' and 0 or count do",
      "for i = 1, keep == '0' and 0 or 1 do",
    ),
    'lock.lua',
    "for i = 1, count do\n    redis.call('SET', KEYS[count + i]",
    "for i = 1, 1 do\n    redis.call('SET', KEYS[count + i]",
  ),
  inScript(
    'superseded-keeps-its-position',
    'a newer preemptible waiter waits behind the older ones',
    within(40, 'preemption', 'superseded'),
    'lock.lua',
    "if other ~= id and has(other, 'supersede') then",
    "if other == '' then",
  ),
  inScript(
    'served-is-forgotten',
    'a waiter superseded by one that is served at once is not told',
    rarely(80, 'preemption', 'superseded'),
    'lock.lua',
    'if since and other ~= id and comes_after(tonumber(since), other) then newer = other end\n',
    '',
  ),
  inScript(
    'replaced-for-any-waiter',
    'a holder is stopped for any waiter',
    rarely(30, 'preemption', 'replaced'),
    'lock.lua',
    "if isInTheWay and isNewer and has(other, 'replace') then",
    'if isInTheWay then',
  ),
  inSource(
    'replaced-on-one-word',
    'a holder gives way on the reply of one master',
    rarely(80, 'preemption', 'replaced'),
    'lock/quorum.ts',
    'countOfWish(wish) >= quorumOf(masterCount)',
    'countOfWish(wish) >= Math.min(1, quorumOf(masterCount))',
  ),
  inSource(
    'never-replaced',
    'a holder never gives way',
    rarely(40, 'preemption', 'replacement'),
    'lock/lease-keeper.ts',
    "this.#onEvent({ kind: 'replaced', by: extension.replacedBy });",
    'void extension;',
  ),
  inSource(
    'replaced-with-the-next-extension',
    'a preemptible holder has no subscription',
    rarely(20, 'preemption', 'replacement'),
    'lock/lease-keeper.ts',
    "preemptible === 'replace' ? await redlock.subscribe(resources, holderIdOf(token)) : null",
    "token === '' ? await redlock.subscribe(resources, holderIdOf(token)) : null",
  ),
];
