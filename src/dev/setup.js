// @ts-check
// What a checkout needs before anything in it can run: packages, dist/, and, for the local masters and the tests, a
// redis-server. Silent when all is there. The surprise: nobody calls it by hand; `npm start` and `npm test` do.

import { ensureBuilt } from './built.js';
import { ensureInstalled } from './installed.js';
import { ensureServer } from './redis-server.js';

/**
 * @param {{ server: boolean }} needs
 */
export async function setUp({ server }) {
  await ensureInstalled();
  await ensureBuilt();
  if (server) await ensureServer();
}
