// The version of this program, read from the package it belongs to. In dist/ the build has put the
// number itself here: finding and reading a file costs more than all else that --version does.

import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);

export const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
