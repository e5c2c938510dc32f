// @ts-check
// The systems that an executable is made for.

/**
 * @typedef {object} System
 * @property {string} name as in the name of the archive
 * @property {string} compiler in the words of Bun's packages
 * @property {'linux' | 'darwin'} os
 * @property {'amd64' | 'arm64'} processor in the words of Debian, Go and OCI
 * @property {'glibc' | 'musl' | null} libc
 */

/** @type {readonly System[]} */
export const systems = [
  { name: 'linux-x64', compiler: 'linux-x64', os: 'linux', processor: 'amd64', libc: 'glibc' },
  {
    name: 'linux-x64-musl',
    compiler: 'linux-x64-musl',
    os: 'linux',
    processor: 'amd64',
    libc: 'musl',
  },
  {
    name: 'linux-arm64',
    compiler: 'linux-aarch64',
    os: 'linux',
    processor: 'arm64',
    libc: 'glibc',
  },
  {
    name: 'linux-arm64-musl',
    compiler: 'linux-aarch64-musl',
    os: 'linux',
    processor: 'arm64',
    libc: 'musl',
  },
  { name: 'darwin-x64', compiler: 'darwin-x64', os: 'darwin', processor: 'amd64', libc: null },
  {
    name: 'darwin-arm64',
    compiler: 'darwin-aarch64',
    os: 'darwin',
    processor: 'arm64',
    libc: null,
  },
];

/** The processors that packages and the image are made for. */
export const processors = /** @type {const} */ (['amd64', 'arm64']);
