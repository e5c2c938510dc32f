// The bundles contain only some commands of ioredis. A call of another command would fail only in a
// bundle, so this test finds it.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commands } from '../../../scripts/ioredis-parts.js';

const root = path.resolve(import.meta.dirname, '../../..');
const { list } = createRequire(createRequire(import.meta.url).resolve('ioredis'))(
  '@ioredis/commands',
) as {
  list: string[];
};
const others = list.filter(
  (name) => !commands.includes(name) && name !== 'quit' && name !== 'exec',
);

/** The commands that a source text sends and that the bundles do not have. */
function unknownIn(text: string): string[] {
  const called = [...text.matchAll(/(?:client|redis|connection)\??\.(\w+?)(?:Buffer)?\(/gi)].map(
    ([, name]) => name ?? '',
  );
  return called.filter((name) => others.includes(name.toLowerCase()));
}

it('finds a command that is not in the bundles', () => {
  expect(unknownIn("await this.#client.get('key'); client.hgetallBuffer('key')")).toEqual([
    'get',
    'hgetall',
  ]);
  expect(unknownIn("client.eval(''); client.call('GET', 'key')")).toEqual([]);
});

it.each(['redis', 'ctl'])('src/%s sends only commands of the bundles', (folder) => {
  const all = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' });
  for (const file of all.filter((name) => name.startsWith(folder) && name.endsWith('.ts'))) {
    expect([file, unknownIn(readFileSync(path.join(root, 'src', file), 'utf8'))]).toEqual([
      file,
      [],
    ]);
  }
});
