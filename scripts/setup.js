// @ts-check
// Prepares a checkout: packages, dist/, and, for local masters and tests, a redis-server. It prints
// nothing when all of that is there. `npm start` and `npm test` call it.

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
