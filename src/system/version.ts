// The version of the program, read from its package.json. The build replaces this file by the
// number itself.

import { readFileSync } from 'node:fs';

const file = new URL('../../package.json', import.meta.url);

export const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string };
