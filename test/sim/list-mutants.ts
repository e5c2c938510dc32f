// Deliberate mistakes in the comparison of lists of masters (mutants.ts).

import { inSource, type Mutant, within } from './mutant.ts';

const file = 'redis/master-lists.ts';

export const listMutants: readonly Mutant[] = [
  inSource(
    'lists-compared-in-part',
    'lists are compared before each master has told how old it is',
    within(60, 'three-to-five', 'listsTold'),
    file,
    'if (seen.length < configuredCount) return [];',
    '',
  ),
  inSource(
    'list-of-before-counts',
    'a list counts that was written before a master was added or replaced',
    within(60, 'three-to-five', 'listsTold'),
    file,
    'Math.max(now - dayMs, ...seen.map(({ mark }) => mark.since))',
    'now - dayMs',
  ),
  inSource(
    'lists-by-address',
    'another address of a master counts as another master',
    within(40, 'two-lists', 'listsTold'),
    file,
    'new Map(seen.map(({ name, mark }) => [mark.id, name]))',
    'new Map(seen.map(({ name }) => [name, name]))',
  ),
  inSource(
    'unreached-is-another',
    'a master that the other host had not reached counts as none of ours',
    within(60, 'two-lists', 'listsTold'),
    file,
    'shared + Math.min(unreached, ourRest, theirRest)',
    'shared + Math.min(0, unreached, ourRest, theirRest)',
  ),
  inSource(
    'just-apart-is-together',
    'two quorums without a common master are taken for two with one',
    within(40, 'two-lists', 'listsTold'),
    file,
    '<= ourCount + theirCount - mostShared',
    '< ourCount + theirCount - mostShared',
  ),
  inSource(
    'one-more-is-apart',
    'one master more counts as a danger',
    within(40, 'two-lists', 'listsTold'),
    file,
    '<= ourCount + theirCount - mostShared',
    '<= ourCount + theirCount - mostShared + 1',
  ),
  inSource(
    'list-never-written',
    'the masters are not told the list',
    within(40, 'two-lists', 'listsTold'),
    'redis/masters-watch.ts',
    'if (this.#settings.hasHistory) this.#list.write(now);',
    '',
  ),
  inSource(
    'told-again-and-again',
    'a run warns of another host at each extension',
    within(40, 'two-lists', 'listsTold'),
    'redis/masters-watch.ts',
    'this.#hasWarned = true;',
    '',
  ),
];
