// Checks docs/library.md: each example compiles, and prints on real masters, with the packed
// package, the text in the comment behind its console.log. The tables have every option and kind of
// error.

import { readFileSync } from 'node:fs';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { acquireRules, redlockRules } from '../../src/library/claim.ts';
import { pack } from '../servers/packed.ts';
import { generous } from '../servers/patience.ts';
import { Consumer } from './consumer.ts';
import { untilNothingIsLeft, useMasters } from './rig.ts';

const text = readFileSync(new URL('../../docs/library.md', import.meta.url), 'utf8');
const examples = [...text.matchAll(/^#+ ([^\n]+)\n(?:(?!^#|^```).*\n)*?```ts\n([\s\S]*?)^```/gm)];
// They fsync every change and have old marks, so that they vote although they have just started.
const { masters } = useMasters(3, { transport: 'tcp', persist: true });
beforeEach(() => Promise.all(masters.map((master) => master.markLongAgo('redlock:'))));
let consumer: Consumer;
/** The messages of the compiler, by example. */
const complaints = new Map<string, string | undefined>();

beforeAll(async () => {
  consumer = await Consumer.of(await pack());
  const codes = examples.map(([, , code = '']) => code);
  const all = await consumer.complaintsAbout(...codes);
  for (const [index, code] of codes.entries()) complaints.set(code, all[index]);
}, generous(40_000));

test('every example is found', () => {
  expect(examples).toHaveLength(text.match(/^```ts$/gm)?.length ?? 0);
  expect(examples.length).toBeGreaterThan(8);
});

describe.each(examples.map(([, title = '', code = '']) => [title, code] as const))(
  '%s',
  (_title, code) => {
    test('compiles', () => {
      expect(complaints.get(code)).toBe('');
    });

    test('prints the text in its comments', async () => {
      const there = code.replace(
        /redis:\/\/10\.0\.0\.(\d):6379/g,
        (_, number) => masters[number - 1]?.url ?? '',
      );
      const { stdout, stderr } = await consumer.run(await consumer.translated(there));
      const said = [...code.matchAll(/console\.log\(.*?\/\/ (.*)$/gm)].map(([, line]) => line);
      expect(stdout).toBe(`${said.join('\n')}\n`);
      expect(stderr).toBe('');
      await untilNothingIsLeft(masters);
    });
  },
);

describe('tables', () => {
  test.each([...new Set([...Object.keys(redlockRules), ...Object.keys(acquireRules)])])(
    'have the option %s',
    (name) => {
      expect(text).toContain(`\n| \`${name}\` | `);
    },
  );

  test('have every kind of error, reason and event', () => {
    const source = readFileSync(new URL('../../src/library/error.ts', import.meta.url), 'utf8');
    const kinds = [...source.matchAll(/^ \* - `([\w-]+)`(?:, `([\w-]+)`)?:/gm)].flatMap(
      ([, ...args]) => args,
    );
    for (const kind of kinds.filter(Boolean))
      expect(text).toMatch(new RegExp(`^\\| .*\`${kind}\``, 'm'));
    const events = readFileSync(new URL('../../src/lock/ports.ts', import.meta.url), 'utf8');
    for (const [, kind] of events.matchAll(/readonly kind: '([\w-]+)'/g))
      expect(text).toContain(`\`${kind}\``);
  });
});
