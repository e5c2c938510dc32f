// What LICENSES.txt says of Bun is written by hand, from the licence page of one version of it.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { licenceFile } from '../../../scripts/bundle.js';
import { bunVersion, standaloneLicences } from '../../../scripts/standalone.js';

it('the libraries in Bun are those of this version (else: its page, packaging/licences)', () => {
  expect(readFileSync(licenceFile('Bun'), 'utf8')).toContain(`Bun ${bunVersion} is under`);
  expect(standaloneLicences([])).toMatch(/\nMIT License\n[\s\S]*\nboringssl: /);
});
