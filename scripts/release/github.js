// @ts-check
// A release on GitHub, by its REST API: a draft until all files are there. So a release that people
// see is whole, and one that was interrupted is continued.
// https://docs.github.com/en/rest/releases

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../program.js';

/**
 * @typedef {object} Place
 * @property {string} api such as https://api.github.com
 * @property {string} repository OWNER/NAME
 * @property {string} token
 */

/**
 * @typedef {object} Known
 * @property {number} id
 * @property {string} tag_name
 * @property {boolean} draft
 * @property {string} upload_url
 * @property {{ id: number, name: string, size: number, state: string }[]} assets
 */

/**
 * @param {Place} place
 * @param {string} path of the API, or a URL
 * @param {{ method?: string, body?: string | Uint8Array<ArrayBuffer>, type?: string }} [what]
 * @returns {Promise<any>} what the API answers; it documents the types
 */
async function call({ api, token }, path, { method = 'GET', body, type } = {}) {
  const url = path.startsWith('/') ? `${api}${path}` : path;
  const headers = {
    accept: 'application/vnd.github+json',
    authorization: `Bearer ${token}`,
    'x-github-api-version': '2022-11-28',
    ...(type === undefined ? {} : { 'content-type': type }),
  };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  if (!answer.ok)
    throw new Failure(69, `publish: ${method} ${url}: ${answer.status}: ${await answer.text()}`);
  return answer.status === 204 ? null : answer.json();
}

/**
 * The release of a tag, a draft too; null: none. Only the newest hundred are looked at.
 * @param {Place} place
 * @param {string} tag
 * @returns {Promise<Known | null>}
 */
export async function findRelease(place, tag) {
  const all = await call(place, `/repos/${place.repository}/releases?per_page=100`);
  return all.find((/** @type {Known} */ one) => one.tag_name === tag) ?? null;
}

/**
 * The files of a folder that a release does not have, or has with another size or half uploaded.
 * @param {Known | null} release
 * @param {string} folder
 */
export function missingFiles(release, folder) {
  const isThere = (/** @type {string} */ name) =>
    release?.assets.some(
      (one) =>
        one.name === name &&
        one.state === 'uploaded' &&
        one.size === statSync(join(folder, name)).size,
    );
  return readdirSync(folder).filter((name) => !isThere(name));
}

/**
 * Makes the release of a tag, or completes it.
 * @param {Place} place
 * @param {{ tag: string, notes: string, folder: string, isNewest: boolean }} what
 */
export async function makeRelease(place, { tag, notes, folder, isNewest }) {
  const path = `/repos/${place.repository}/releases`;
  const type = 'application/json';
  const draft = JSON.stringify({ tag_name: tag, name: tag, body: notes, draft: true });
  /** @type {Known} */
  const release =
    (await findRelease(place, tag)) ??
    (await call(place, path, { method: 'POST', body: draft, type }));
  for (const name of missingFiles(release, folder)) {
    const half = release.assets.find((one) => one.name === name);
    if (half) await call(place, `${path}/assets/${half.id}`, { method: 'DELETE' });
    const url = `${release.upload_url.replace(/\{.*/, '')}?name=${encodeURIComponent(name)}`;
    const body = new Uint8Array(readFileSync(join(folder, name)));
    await call(place, url, { method: 'POST', body, type: 'application/octet-stream' });
  }
  const latest = JSON.stringify({ draft: false, make_latest: String(isNewest) });
  await call(place, `${path}/${release.id}`, { method: 'PATCH', body: latest, type });
}
