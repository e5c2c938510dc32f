// Where the guard of the npm package begins: loads the rest with the code kept by an earlier run.
// It is a small bundle of its own; guard.ts is loaded at run time and not imported. The argument is
// the folder of that code.

import './no-inspector.ts';

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { openCodeCache } from './code-cache.ts';
import type { keepCodeIn } from './guard.ts';

const folder = path.dirname(fileURLToPath(import.meta.url));
const cache = openCodeCache(process.argv[2] ?? null);
const guard = cache.load(path.join(folder, 'guard-main.js'));

(guard as { readonly keepCodeIn: typeof keepCodeIn }).keepCodeIn(cache);
