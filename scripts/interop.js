// @ts-check
// `npm run interop -- all|NAME... [--page] [--sections N]`: installs other implementations of the
// lock into the user's cache and runs them against ours, by the tests of test/interop. `--page`
// writes docs/results/interop.md; `--sections` makes the shared section that many times as long. It
// fails when a check fails, or when one that is named cannot be run here.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { implementationsWith } from '../test/interop/implementations.js';
import { Failure, script, show, vitest } from './program.js';
import { setUp } from './setup.js';

const usage = 'npm run interop -- all|NAME... [--page] [--sections N]';

await script(async () => {
  const { names, page, sections } = readWords();
  await setUp({ server: true });
  process.env.INTEROP = names.join(',');
  process.env.INTEROP_SECTIONS = sections;
  if (page) process.env.INTEROP_PAGE = 'yes';
  const files = ['implementations', 'faults'].map((name) =>
    join('test', 'interop', `${name}.test.ts`),
  );
  const words = ['run', '--project', 'interop', '--reporter=verbose', ...files];
  return show(process.execPath, [vitest, ...words]);
});

/** Throws a Failure. */
function readWords() {
  const options = /** @type {const} */ ({
    page: { type: 'boolean', default: false },
    sections: { type: 'string', default: '1' },
  });
  try {
    const { positionals: names, values } = parseArgs({ allowPositionals: true, options });
    const sources = process.env.INTEROP_SOURCES;
    if (sources && !existsSync(sources))
      throw new Error(`INTEROP_SOURCES: ${sources}: no such folder`);
    const known = ['all', ...implementationsWith(sources).map(({ name }) => name)];
    const unknown = names.find((name) => !known.includes(name));
    if (names.length === 0 || unknown !== undefined)
      throw new Error(`${unknown ?? 'which?'}: no such one (write ${known.join(', ')})`);
    if (!/^[1-9]\d{0,2}$/.test(values.sections))
      throw new Error(`--sections: ${values.sections}: not a number from 1 to 999`);
    return { names, ...values };
  } catch (error) {
    throw new Failure(64, `interop: ${/** @type {Error} */ (error).message} (usage: ${usage})`);
  }
}
