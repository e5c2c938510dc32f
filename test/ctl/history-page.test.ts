// The page in a browser: a probe measures what is on the screen, at 1280 px in light and in dark,
// and at 400 px. Skipped where there is no chromium. The page forbids all scripts, so the probe
// runs in a copy without that rule; a picture of the page itself shows that it is complete without
// the probe.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { renderAct } from '../../src/lock/history.ts';
import { useMasters } from '../cli/rig.ts';
import { generous } from '../servers/patience.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { missedFor, runOf, theNight, took, utc } from './history-rig.ts';
import { ctl } from './rig.ts';

const hasChromium = spawnSync('chromium', ['--version']).status === 0;
const { masters } = useMasters(3);
let folder: string;

if (!hasChromium)
  console.warn('no chromium here (Debian package chromium): the page of history is not looked at');

beforeAll(() => {
  folder = mkdtempSync(join(scratchFolder(), 'page-'));
});

function chromium(...args: string[]): string {
  const home = [
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    `--user-data-dir=${join(folder, 'profile')}`,
  ];
  const { stdout, status } = spawnSync(
    'chromium',
    ['--headless', ...home, '--window-size=1280,900', ...args],
    {
      encoding: 'utf8',
      timeout: generous(20_000),
    },
  );
  expect(status).toBe(0);
  return stdout;
}

/** What fixtures/history-probe.js finds. */
interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly text: string;
}

interface Seen {
  readonly width: number;
  readonly overflowPx: number;
  readonly lanes: readonly string[];
  readonly times: readonly Box[];
  readonly bars: readonly Box[];
  /** The class of each bar, and what is in it: `wait`, and its text. */
  readonly kinds: readonly string[][];
  /** How each ended, in the row of the table that its bar links to. */
  readonly targets: readonly string[];
  readonly colours: Readonly<Record<'page' | 'done', string>>;
  readonly rows: number;
  readonly injected: number;
}

const probe = readFileSync(new URL('./fixtures/history-probe.js', import.meta.url), 'utf8');

function look(html: string, ...args: string[]): Seen {
  const script = `<script id="probe">${probe}</script>`;
  const copy = join(folder, 'probed.html');
  writeFileSync(
    copy,
    html
      .replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, '')
      .replace('</body>', `${script}</body>`),
  );
  const [, seen = ''] =
    /data-seen="([^"]*)"/.exec(chromium('--dump-dom', ...args, `file://${copy}`)) ?? [];
  return JSON.parse(
    seen
      .replaceAll('&quot;', '"')
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&'),
  );
}

async function pageOf(...args: string[]): Promise<{ file: string; html: string }> {
  const file = join(folder, 'history.html');
  expect(await ctl(masters, ['history', ...args, '--html', file], utc)).toMatchObject({
    code: 0,
    stderr: '',
  });
  return { file, html: readFileSync(file, 'utf8') };
}

const overlap = (a: Box, b: Box) =>
  a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;

/** Nothing is cut off, no time is on another one, and no bar on another one. */
function expectInPlace({ width, overflowPx, times, bars }: Seen): void {
  expect(overflowPx).toBe(0);
  for (const boxes of [times, bars])
    for (const [index, box] of boxes.entries()) {
      expect(box.left, box.text).toBeGreaterThanOrEqual(0);
      expect(box.right, box.text).toBeLessThanOrEqual(width);
      expect(boxes.slice(index + 1).filter((other) => overlap(box, other))).toEqual([]);
    }
}

describe.skipIf(!hasChromium)('in a browser', () => {
  test('the night: a lane for each host, each bar leads to its row', async () => {
    await theNight(masters);
    const { file, html } = await pageOf('nightly-backup');
    const picture = join(folder, 'history.png');
    chromium(`--screenshot=${picture}`, `file://${file}`);
    expect(statSync(picture).size).toBeGreaterThan(10_000);
    const light = look(html);
    expectInPlace(light);
    expect(light.lanes).toEqual(['web1', 'web2', 'web3']);
    expect(light.rows).toBe(6);
    expect(light.kinds).toEqual([
      ['done', 'backup'],
      ['missed point', 'wait', '\u2715'],
      ['done', 'wait', 'backup'],
      ['done', 'wait', 'backup'],
      ['failed', 'exit code 3'],
      ['lost', 'lost the lock'],
    ]);
    const held = 'held by ops@web2, pid 4711, restore.sh, since 2026-11-20 22:00:00';
    expect(light.targets[1]).toBe(`did not run: ${held}`);
    expect(light.targets.slice(4)).toEqual(['exit code 3', 'lost the lock']);
    expect(light.colours.page).toBe('rgb(255, 255, 255)');
  });

  test('on a phone, with what operators did: nothing is cut, and nothing on another', async () => {
    const name = 'phone';
    await theNight(masters, name);
    const by = { user: 'ann', host: 'laptop', pid: 7, note: 'the disk is full' };
    const act = (kind: 'freeze' | 'thaw' | 'break', token: string, at: string) =>
      took(masters, name, at, renderAct({ kind, id: `${kind}${token}`, by, token }));
    await act('freeze', 'one', '2026-11-20T04:00:00Z');
    await act('thaw', 'one', '2026-11-20T13:00:00Z');
    await act('break', 'token', '2026-11-21T04:11:00Z');
    const { html } = await pageOf(name);
    const wide = look(html);
    // Some versions have no window below 500 px.
    const phone = look(html, '--window-size=400,900');
    expect(phone.width).toBeLessThanOrEqual(500);
    for (const seen of [wide, phone]) {
      expectInPlace(seen);
      expect(seen.lanes).toEqual(['operators', 'web1', 'web2', 'web3']);
      expect(seen.rows).toBe(9);
      expect(seen.targets.slice(0, 3)).toEqual([
        'froze it: "the disk is full"',
        'thawed it: "the disk is full"',
        'broke the lock: "the disk is full"',
      ]);
    }
    const [frozen, thawed] = wide.bars;
    expect((frozen?.right ?? 0) - (frozen?.left ?? 0)).toBeGreaterThan(100);
    expect(Math.abs((thawed?.left ?? 0) - (frozen?.right ?? 0))).toBeLessThan(1);
  });

  test('many runs of several locks, in dark: all in place, foreign text escaped', async () => {
    const nasty = '<img src=x onerror=alert(1)>';
    const [host, user] = ['h'.repeat(63), 'u'.repeat(32)];
    const record = { host, pid: 4_194_304, user, since: '2026-11-21T01:00:00.000Z', label: nasty };
    for (let index = 0; index < 40; index += 1) {
      const at = new Date(Date.UTC(2026, 10, 21, 2, index * 7)).toISOString();
      const common = {
        host: index % 4 === 3 ? nasty : `host-${index % 4}.example.com`,
        label: index % 5 === 0 ? nasty : 'deploy.sh',
      };
      const times = { waitMs: (index % 6) * 60_000, heldMs: (1 + (index % 9)) * 60_000 };
      await took(
        masters,
        index % 3 === 0 ? nasty : 'deploy',
        at,
        index % 6 === 5
          ? missedFor({ token: 'x', record }, { ...common, ...times, heldMs: null })
          : runOf({ ...common, ...times, exitCode: index % 4 }),
      );
    }
    const dark = look((await pageOf()).html, '--blink-settings=preferredColorScheme=0');
    expectInPlace(dark);
    expect(dark.colours.page).toBe('rgb(13, 17, 23)');
    expect(dark.injected).toBe(0);
    expect(dark.lanes).toEqual(expect.arrayContaining([nasty, 'deploy']));
    expect(dark.bars.length).toBeGreaterThan(30);
  });
});
