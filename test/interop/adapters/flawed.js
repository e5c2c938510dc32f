// @ts-check
// Deliberate faults: locks that are none, for the test that shows that the checks can fail. They
// speak the protocol of adapter.ts on masters as the others do.

import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';

const [flaw = '', ...urls] = process.argv.slice(2);
/** Longer on a machine that is slow. */
const commandTimeout = 500 * Number(process.env.TEST_PATIENCE ?? 3);
const clients = urls.map((url) => new Redis(url, { commandTimeout }).on('error', () => {}));
const quorum = Math.floor(clients.length / 2) + 1;
const value = `flawed ${process.pid}`;
let key = '';

/** @param {string} script @param {...(string | number)} args */
async function countOf(script, ...args) {
  const replies = clients.map((client) => client.eval(script, 1, key, ...args).catch(() => null));
  return (await Promise.all(replies)).filter((reply) => reply !== null && reply !== 0).length;
}

const setIfFree = `return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) and 1 or 0`;
const set = `redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2]) return 1`;
const remove = `return redis.call('del', KEYS[1])`;
const removeOurs = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('del', KEYS[1])`;

const extendOurs = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`;

/** @param {string} ttl */
async function acquire(ttl) {
  if (flaw === 'never-asks') return true;
  if (flaw === 'never-acquires') return false;
  if (flaw === 'overwrites') return (await countOf(set, value, ttl)) >= quorum;
  const isGranted = (await countOf(setIfFree, value, ttl)) >= quorum;
  if (!isGranted && flaw !== 'leaves-keys') await countOf(removeOurs, value);
  return isGranted;
}

/** @param {string} line */
async function answer(line) {
  const [verb, ...args] = line.split(' ');
  if (verb === 'acquire') {
    [key = ''] = args;
    return acquire(args[1] ?? '');
  }
  if (flaw === 'never-asks') return true;
  if (verb === 'extend') return (await countOf(extendOurs, value, args[0] ?? '')) >= quorum;
  if (flaw === 'never-releases') return true;
  return (await countOf(flaw === 'releases-any' ? remove : removeOurs, value)) > 0;
}

process.stdout.write('ready\n');
for await (const line of createInterface(process.stdin))
  process.stdout.write((await answer(line)) ? 'yes\n' : 'no\n');
process.exit(0);
