// Where a release is published, on loopback: as much of the npm registry and of the REST API of
// GitHub as a release uses. Each can be told to fail, as the real ones do in the middle of things.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers with a status and JSON. */
type Answer = readonly [status: number, body: unknown];

async function serve(answer: (request: IncomingMessage, body: Buffer) => Answer) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const [status, body] = answer(request, Buffer.concat(chunks));
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 204 ? undefined : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => stop(server) };
}

function stop(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** https://github.com/npm/registry/blob/main/docs/REGISTRY-API.md */
export async function npmRegistry() {
  interface Package {
    readonly versions: Record<string, { dist: { integrity: string } }>;
    readonly tags: Record<string, string>;
  }
  const packages = new Map<string, Package>();
  const { url, stop } = await serve((request, body) => {
    const [, path = ''] = /^\/([^/?]+)/.exec(request.url ?? '') ?? [];
    const name = decodeURIComponent(path);
    const { versions, tags } = packages.get(name) ?? { versions: {}, tags: {} };
    if (request.method === 'PUT') {
      const sent = JSON.parse(body.toString());
      for (const [version, manifest] of Object.entries<{ dist: object }>(sent.versions)) {
        if (version in versions) return [403, { error: 'cannot publish over it' }];
        const { data } = Object.values<{ data: string }>(sent._attachments)[0] ?? { data: '' };
        const bytes = Buffer.from(data, 'base64');
        const integrity = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
        versions[version] = { ...manifest, dist: { ...manifest.dist, integrity } };
      }
      packages.set(name, { versions, tags: { ...tags, ...sent['dist-tags'] } });
      return [201, { ok: true }];
    }
    if (!packages.has(name)) return [404, { error: 'Not found' }];
    return [200, { name, _id: name, versions, 'dist-tags': tags, time: {} }];
  });
  /** By package: its versions. */
  const published = () =>
    Object.fromEntries([...packages].map(([name, one]) => [name, Object.keys(one.versions)]));
  return { url, stop, published, latest: () => packages.get('redlock-run')?.tags.latest };
}

interface Release {
  id: number;
  tag_name: string;
  body: string;
  draft: boolean;
  upload_url: string;
  assets: { id: number; name: string; size: number; state: string }[];
}

/** https://docs.github.com/en/rest/releases; the fifth upload fails when told to. */
export async function gitHub() {
  const releases: Release[] = [];
  let id = 0;
  let uploadsUntilFailure = Number.POSITIVE_INFINITY;
  const asset = (file: string, size: number, state: string) => {
    id += 1;
    return { id, name: file, size, state };
  };
  const { url, stop } = await serve((request, body) => {
    const address = new URL(request.url ?? '', url);
    const [, kind, wanted] = /\/(releases|upload|assets)(?:\/(\d+))?$/.exec(address.pathname) ?? [];
    const release = releases.find((one) => one.id === Number(wanted));
    if (kind === 'releases' && request.method === 'GET') return [200, releases];
    if (kind === 'releases' && request.method === 'POST') {
      id += 1;
      const upload_url = `${url}/upload/${id}{?name,label}`;
      const made = { id, assets: [], upload_url, ...JSON.parse(body.toString()) };
      releases.unshift(made);
      return [201, made];
    }
    if (kind === 'assets' && request.method === 'DELETE') {
      for (const one of releases)
        one.assets = one.assets.filter((each) => each.id !== Number(wanted));
      return [204, null];
    }
    if (release === undefined) return [404, { message: 'Not Found' }];
    if (kind === 'upload') {
      const file = address.searchParams.get('name') ?? '';
      if (release.assets.some((one) => one.name === file)) return [422, { code: 'already_exists' }];
      uploadsUntilFailure -= 1;
      const isWhole = uploadsUntilFailure >= 0;
      release.assets.push(asset(file, body.length, isWhole ? 'uploaded' : 'starter'));
      return isWhole ? [201, {}] : [502, { message: 'Server Error' }];
    }
    Object.assign(release, JSON.parse(body.toString()));
    return [200, release];
  });
  const failAfter = (uploads: number) => {
    uploadsUntilFailure = uploads;
  };
  return { url, stop, releases, failAfter };
}
