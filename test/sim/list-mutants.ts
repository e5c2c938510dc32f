// Deliberate mistakes in the comparison of sets of masters (mutants.ts).

import { inSource, type Mutant, within } from './mutant.ts';

const file = 'redis/masters-watch.ts';

export const listMutants: readonly Mutant[] = [
  inSource(
    'lists-compared-in-part',
    'sets are compared before each master has reported how old it is',
    within(60, 'three-to-five', 'listsTold'),
    file,
    'return marked.length === this.#masters.length ? marked : null;',
    'return marked.length > 0 ? marked : null;',
  ),
  inSource(
    'list-of-before-counts',
    'a set counts that was used before a master was added or replaced',
    within(60, 'two-lists', 'listsTold'),
    file,
    'Math.max(now - dayMs, ...masters.map(({ mark }) => mark.since))',
    'now - dayMs',
  ),
  inSource(
    'lists-by-address',
    'another address of a master counts as another master',
    within(40, 'two-lists', 'listsTold'),
    file,
    'return masters.flatMap(({ mark }) => mark.id ?? []).sort();',
    'return masters.map(({ name }) => name).sort();',
  ),
  inSource(
    'just-apart-is-together',
    'two quorums without a common master are taken for two with one',
    within(40, 'two-lists', 'listsTold'),
    file,
    'quorumOf(ids.length) <= serverCount',
    'quorumOf(ids.length) < serverCount',
  ),
  inSource(
    'one-more-is-apart',
    'one master more counts as a danger',
    within(40, 'two-lists', 'listsTold'),
    file,
    'quorumOf(ids.length) <= serverCount',
    'quorumOf(ids.length) <= serverCount + 1',
  ),
  inSource(
    'list-never-written',
    'the set is not recorded on the masters',
    within(40, 'two-lists', 'listsTold'),
    file,
    'if (this.#isRecording) this.#record(masters, now);',
    '',
  ),
  inSource(
    'told-again-and-again',
    'a run warns of another host at each extension',
    within(40, 'two-lists', 'listsTold'),
    file,
    'this.#hasWarned = true;',
    '',
  ),
];
