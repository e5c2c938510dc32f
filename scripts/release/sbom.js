// @ts-check
// The software bill of materials, in CycloneDX 1.6: what is in the executables, the npm package and
// the image. `npm sbom` would list what the checkout is built and tested with.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentsFile } from './executables.js';
import { imageComponents } from './libraries.js';
import { writeText } from './tree.js';

/** @param {string} version */
export const sbomName = (version) => `redlock-run-${version}.cdx.json`;

/** @param {import('./parts.js').Release} release */
export async function makeSbom({ version, epoch, out, work }) {
  /** @type {{ type: string, name: string, version: string, license: string }[]} */
  const bundled = JSON.parse(readFileSync(componentsFile(work), 'utf8'));
  const components = [...bundled, ...imageComponents].map(component);
  const self = component({ type: 'npm', name: 'redlock-run', version, license: 'MIT' });
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(components) + version)}`,
    version: 1,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      component: { ...self, type: 'application' },
    },
    components,
    dependencies: [
      { ref: self['bom-ref'], dependsOn: components.map((one) => one['bom-ref']) },
      ...components.map((one) => ({ ref: one['bom-ref'] })),
    ],
  };
  writeText(join(out, sbomName(version)), `${JSON.stringify(bill, null, 2)}\n`);
}

/**
 * @param {{ type: string, name: string, version: string, license: string, description?: string }}
 *   what `type`: of the package URL
 */
function component({ type, name, version, license, ...others }) {
  const path = name.replace('@', '%40').replaceAll('+', '%2B');
  const purl = `pkg:${type}/${path}@${encodeURIComponent(version)}`;
  const licence = / /.test(license) ? { expression: license } : { license: { id: license } };
  const what = { type: 'library', 'bom-ref': purl, name, version, ...others };
  return { ...what, licenses: [licence], purl };
}

/**
 * A UUID (version 8) made from a text: the same input gives the same bill.
 * @param {string} text
 */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join('-');
}
