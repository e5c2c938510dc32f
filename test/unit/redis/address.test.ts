// One line a form of address: what it means, or why it is refused. No server is needed.

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  AddressError,
  endpointOf,
  localAddress,
  parseAddress,
} from '../../../src/redis/address.ts';
import { withoutSecrets } from '../../../src/text/foreign-text.ts';
import { anyText } from '../any-text.ts';

const secret = 's3cr3t';

describe('reads', () => {
  test.each([
    ['redis://h', { name: 'redis://h:6379', host: 'h', port: 6379, db: 0 }],
    ['h', { name: 'redis://h:6379', host: 'h', port: 6379, db: 0 }],
    ['h:7001', { name: 'redis://h:7001', host: 'h', port: 7001, db: 0 }],
    ['valkey://h:1', { name: 'redis://h:1', host: 'h', port: 1, db: 0 }],
    ['REDIS://H:1', { name: 'redis://H:1', host: 'H', port: 1, db: 0 }],
    ['redis://h/', { name: 'redis://h:6379', host: 'h', port: 6379, db: 0 }],
    [
      'redis://10.0.0.1:6380/2',
      { name: 'redis://10.0.0.1:6380/2', host: '10.0.0.1', port: 6380, db: 2 },
    ],
    ['rediss://h:6380', { name: 'rediss://h:6380', host: 'h', port: 6380, db: 0, tls: {} }],
    ['valkeys://h', { name: 'rediss://h:6379', host: 'h', port: 6379, db: 0, tls: {} }],
    ['redis://[::1]:7/1', { name: 'redis://[::1]:7/1', host: '::1', port: 7, db: 1 }],
    ['[fe80::1]', { name: 'redis://[fe80::1]:6379', host: 'fe80::1', port: 6379, db: 0 }],
    [
      'redis://u:p@h',
      { name: 'redis://***@h:6379', host: 'h', port: 6379, db: 0, username: 'u', password: 'p' },
    ],
    ['redis://:p@h', { name: 'redis://***@h:6379', host: 'h', port: 6379, db: 0, password: 'p' }],
    ['redis://u@h', { name: 'redis://***@h:6379', host: 'h', port: 6379, db: 0, username: 'u' }],
    [
      'redis://:a%40%2F%3A%25@h',
      { name: 'redis://***@h:6379', host: 'h', port: 6379, db: 0, password: 'a@/:%' },
    ],
    [
      'redis://:a@b:c@h',
      { name: 'redis://***@h:6379', host: 'h', port: 6379, db: 0, password: 'a@b:c' },
    ],
    [
      'redis://redis_1.local.:9',
      { name: 'redis://redis_1.local.:9', host: 'redis_1.local.', port: 9, db: 0 },
    ],
    ['unix:///run/r.sock', { name: 'unix:///run/r.sock', path: '/run/r.sock', db: 0 }],
    [
      'unix:///run/r@1.sock?db=3',
      { name: 'unix:///run/r@1.sock?db=3', path: '/run/r@1.sock', db: 3 },
    ],
    ['unix://u:p@/a', { name: 'unix://***@/a', path: '/a', db: 0, username: 'u', password: 'p' }],
    [
      'redis+sentinel://u:p@h1:1,h2/mymaster',
      {
        name: 'redis+sentinel://***@h1:1,h2:26379/mymaster',
        sentinels: {
          primary: 'mymaster',
          hosts: [
            { host: 'h1', port: 1 },
            { host: 'h2', port: 26379 },
          ],
        },
        db: 0,
        username: 'u',
        password: 'p',
      },
    ],
    [
      'rediss+sentinel://[::1]:7/a.b-c_1/2',
      {
        name: 'rediss+sentinel://[::1]:7/a.b-c_1/2',
        sentinels: { primary: 'a.b-c_1', hosts: [{ host: '::1', port: 7 }] },
        db: 2,
        tls: {},
      },
    ],
    ['unix:///a%20b', { name: 'unix:///a b', path: '/a b', db: 0 }],
  ])('%s', (text, expected) => expect(parseAddress(text)).toEqual(expected));
});

describe('refuses', () => {
  test.each([
    ['', /no address/],
    [' redis://h', /a space/],
    ['redis://h\n', /control character/],
    ['redis://', /no host/],
    ['redis://:6379', /no host/],
    ['redis://u:p@', /no host/],
    ['redis://h:', /not a port/],
    ['redis://h:0', /not a port/],
    ['redis://h:65536', /not a port/],
    ['redis://h:99999', /not a port/],
    ['h:port', /not a port/],
    ['h:6379;h:6380', /a semicolon \(commas separate addresses\)/],
    ['redis://h;i', /a semicolon/],
    ['redis://h/notanumber', /not a database number/],
    ['redis://h/-1', /not a database number/],
    ['redis://h/1.5', /not a database number/],
    ['redis://h/1/2', /not a database number/],
    ['redis://h?db=1', /unknown query parameter/],
    ['redis://h/1?timeout=5', /unknown query parameter/],
    ['redis://h#x', /write %23/],
    ['redis://h_:1', null],
    ['redis://-h:1', /not a host name/],
    ['redis://a,b:1', /not a host name/],
    ['redis://[::g]:1', /not an IPv6/],
    ['redis://::1:6379', /./],
    ['::1', /./],
    ['redis://u:%zz@h', /write %25/],
    ['redis://u:a/b@h', /write %2F/],
    ['http://h', /unknown scheme/],
    ['redis+sentinel://h1,h2:26379', /"redis\+sentinel:\/\/h1,h2:26379": no \/NAME of a primary/],
    ['redis+sentinel://h1,h2/', /no \/NAME of a primary/],
    ['redis+sentinel://h1,/m', /no host/],
    ['redis+sentinel://h1,h2:x/m', /not a port/],
    ['redis+sentinel://h1/m/x', /not a database number/],
    ['redis+sentinel://h1/m/1/2', /not a name that sentinels give/],
    ['redis+sentinel://h1/a b', /a space/],
    ['redis+sentinel://h1/m,redis://h2', /not a name that sentinels give/],
    ['redis+unix:///a', /unknown scheme/],
    ['user:pass@h', /not an address/],
    ['/run/r.sock', /not an address/],
    ['h:7001/2', /not an address/],
    ['unix://run/r.sock', /absolute path/],
    ['unix:///', /absolute path/],
    ['unix:///a/', /absolute path/],
    ['unix:///a%00b', /absolute path/],
    ['unix:///a%0Ab', /absolute path/],
    ['unix:///a?x=1', /\?db=N/],
    ['unix:///a?db=', /not a database number/],
    ['unix:///a?db=1&x=2', /not a database number/],
  ] as const)('%j', (text, why) => {
    if (why === null) return expect(parseAddress(text).host).toBe('h_');
    expect(() => parseAddress(text)).toThrow(AddressError);
    expect(() => parseAddress(text)).toThrow(why);
  });
});

describe('never shows a password', () => {
  test.each([
    `redis://u:${secret}@h:0`,
    `redis://:${secret}@h/x`,
    `redis://u:${secret}`,
    `redis://:${secret}`,
    `redis://:12345`,
    `redis://u:${secret}/x@h`,
    `redis://u:${secret}?x@h`,
    `redis://u:${secret}#@h`,
    `redis://u:x#${secret}`,
    `redis://u:a@b:${secret}@h:0`,
    `redis://u:a@${secret}@h:0`,
    `redis://u:${secret} @h`,
    `redis://h?password=${secret}`,
    `unix://u:${secret}@/`,
    `unix:///a?password=${secret}`,
    `u:${secret}@h`,
    `u:${secret}`,
    `u:p://${secret}@h`,
    `http://u:${secret}@h`,
    `redis://u:%zz${secret}@h`,
    `redis://u%3A${secret}@h:x`,
    `redis://u;${secret}@h:x`,
    `redis://${secret}@h:x`,
    `redis://${secret}@h:1,redis://u:${secret}@h`,
    `redis://h:1/${secret}`,
    `redis:///${secret}`,
    `redis://h/1/${secret}`,
    `redis://h,h2/1,redis://${secret}`,
    `redis+sentinel://${secret}@h1:1,h2:2`,
    `redis+sentinel://u:${secret}@h1:1,h2:2/NA:ME`,
    `redis+sentinel://h1:1,h2:${secret}/NAME`,
    `redis+sentinel://h1:${secret},h2:2/NAME`,
    `unix://${secret}@/`,
    `${secret}@h:x`,
    `h:1/${secret}`,
  ])('%s', (text) => {
    expect(() => parseAddress(text)).toThrow(AddressError);
    expect(() => parseAddress(text)).not.toThrow(new RegExp(`${secret}|12345`));
    expect(withoutSecrets(text)).not.toMatch(/s3cr3t|12345/);
  });

  test.each([
    `redis://${secret}@h:1`,
    `redis://u%3A${secret}@h:1`,
    `redis://u;${secret}@h:1`,
    `unix://${secret}@/a`,
  ])('in the name of %s, where it stands in the place of a user', (text) => {
    expect(parseAddress(text).name).not.toMatch(secret);
  });

  it('in the name of any address with any password', () => {
    const password = anyText({ minLength: 4 }).filter(
      (text) => !/^[*:/]|redis|host|6379/.test(text),
    );
    fc.assert(
      fc.property(password, (text) => {
        const address = parseAddress(`redis://user:${encodeURIComponent(text)}@host`);
        expect(address.password).toBe(text);
        expect(address.name).toBe('redis://***@host:6379');
      }),
    );
  });

  it('but shows the rest', () => {
    expect(withoutSecrets('redis://u:p@h:6379/2')).toBe('redis://***@h:6379/2');
    expect(withoutSecrets('/run/r.sock')).toBe('/run/r.sock');
    expect(withoutSecrets('redis://[::1]:6379/2')).toBe('redis://[::1]:6379/2');
    expect(withoutSecrets('unix:///run/r.sock?db=2')).toBe('unix:///run/r.sock?db=2');
    expect(withoutSecrets('h:99999')).toBe('h:99999');
  });
});

describe('messages', () => {
  test.each(['redis://a\u2028b', 'redis://a\nb', `redis://${'x'.repeat(5000)}:0`])(
    'are one short line: %#',
    (text) => {
      expect(() => parseAddress(text)).toThrow(/^[^\n\u2028]{1,200}$/);
    },
  );
});

describe('endpoints are the same', () => {
  test.each([
    ['redis://h', 'h:6379', true],
    ['redis://h/1', 'redis://u:p@h/2', true],
    ['redis://H', 'rediss://h', true],
    ['redis://[::1]', '[::1]:6379', true],
    ['unix:///a', 'unix://u:p@/a?db=1', true],
    ['redis://h:1', 'redis://h:2', false],
    ['redis://a', 'redis://b', false],
    ['unix:///a', 'unix:///b', false],
  ])('%s and %s: %s', (one, other, same) =>
    expect(endpointOf(parseAddress(one)) === endpointOf(parseAddress(other))).toBe(same),
  );
});

test('the socket of a local master may have any name', () => {
  const path = '/run/a b/#1?%41/m1.sock';
  expect(localAddress(path)).toMatchObject({ path, isLocal: true });
});
