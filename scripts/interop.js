// @ts-check
// `npm run interop -- all|NAME... [--page] [--sections N]`: installs other implementations of the
// lock into the user's cache and runs them against ours, by the tests of test/interop. `--page`
// writes docs/results/interop.md; `--sections` makes the shared section so many times as long. It
// fails when a check fails, or when one that is named cannot be run here.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { implementationsWith } from '../test/interop/implementations.js';
import { Failure, root, script, show } from './program.js';
import { setUp } from './setup.js';

const usage = 'npm run interop -- all|NAME... [--page] [--sections N]';

await script(async () => {
  const { names, page, sections } = readWords();
  await setUp({ server: true });
  process.env.INTEROP = names.join(',');
  process.env.INTEROP_SECTIONS = sections;
  if (page) process.env.INTEROP_PAGE = 'yes';
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return show(process.execPath, [
    vitest,
    'run',
    ...['--project', 'interop', '--reporter=verbose'],
    ...['implementations', 'faults'].map((name) => join('test', 'interop', `${name}.test.ts`)),
  ]);
});

function readWords() {
  const options = /** @type {const} */ ({
    page: { type: 'boolean', default: false },
    sections: { type: 'string', default: '1' },
  });
  let words;
  try {
    words = parseArgs({ allowPositionals: true, options });
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Failure(64, `interop: ${message} (usage: ${usage})`);
  }
  const sources = process.env.INTEROP_SOURCES;
  if (sources && !existsSync(sources))
    throw new Failure(64, `interop: INTEROP_SOURCES: ${sources}: no such folder`);
  const known = ['all', ...implementationsWith(sources).map(({ name }) => name)];
  const names = words.positionals;
  if (names.length === 0)
    throw new Failure(64, `interop: which? (usage: ${usage}; names: ${known.join(', ')})`);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Failure(64, `interop: ${unknown}: no such one (write ${known.join(', ')})`);
  const { page, sections } = words.values;
  if (!/^[1-9]\d{0,2}$/.test(sections))
    throw new Failure(64, `interop: --sections: ${sections}: not a number from 1 to 999`);
  return { names, page, sections };
}
