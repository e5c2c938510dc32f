// The bundles contain only some commands of ioredis, not its client of a cluster, and only one
// function of TLS. A use of anything else would fail only in a bundle, so these tests find it.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { commands, ioredisParts } from '../../../scripts/ioredis-parts.js';

const root = path.resolve(import.meta.dirname, '../../..');
const ioredis = path.dirname(createRequire(import.meta.url).resolve('ioredis'));
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

it('removes the other commands, wherever node_modules is', () => {
  const all = JSON.stringify({ eval: { arity: -3 }, acl: { arity: -2 } });
  const { transform } = ioredisParts();
  const short = transform(all, '/elsewhere/@ioredis/commands/built/commands.json');
  expect(JSON.parse(short?.code ?? '')).toEqual({ eval: { arity: -3 } });
  expect(transform(all, '/elsewhere/commands.json')).toBeNull();
});

it('finds a command that is not in the bundles', () => {
  expect(unknownIn("await this.#client.get('key'); client.hgetallBuffer('key')")).toEqual([
    'get',
    'hgetall',
  ]);
  expect(unknownIn("client.eval(''); client.call('GET', 'key')")).toEqual([]);
});

it("leaves out ioredis's client of a cluster, wherever node_modules is", () => {
  const { load } = ioredisParts();
  expect(load('/elsewhere/ioredis/built/cluster/index.js')).toBe(
    'exports.default = class Cluster {};',
  );
  expect(load('/elsewhere/ioredis/built/Redis.js')).toBeNull();
});

it('finds no other use of a cluster or of TLS in ioredis than those that are replaced', () => {
  const files = readdirSync(ioredis, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js') && !name.startsWith(`cluster${path.sep}`))
    .sort();
  const uses = files.flatMap((name) => {
    const text = readFileSync(path.join(ioredis, name), 'utf8');
    const found = text.match(/require\("[./]+\/cluster\b[^-].*?\)|\b(?:cluster|tls)_1\.\w+/g);
    return found === null ? [] : [[name, [...new Set(found)]]];
  });
  expect(uses).toEqual([
    ['Redis.js', ['require("./cluster")', 'cluster_1.default']],
    ['connectors/SentinelConnector/index.js', ['tls_1.connect']],
    ['connectors/StandaloneConnector.js', ['tls_1.connect']],
    ['index.js', ['require("./cluster")', 'cluster_1.default']],
  ]);
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
