// The page and the picture in a browser: a probe measures what is on the screen, at 1200 px in
// light and in dark, and at 400 px. Skipped where there is no chromium. The page forbids all
// scripts, so the probe runs in a copy without that rule; a picture of the page itself shows that
// it is complete without the probe.

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
    ['--headless', ...home, '--window-size=1200,900', ...args],
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
  readonly texts: readonly Box[];
  readonly shapes: readonly Box[];
  /** The kind of each run, and the shape that shows it. */
  readonly runs: readonly string[][];
  readonly acts: readonly string[];
  readonly hosts: readonly string[];
  readonly colours: Readonly<Record<'paper' | 'done', string>>;
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

describe.skipIf(!hasChromium)('in a browser', () => {
  test('the night: a lane for each host, the run that did not happen with its reason', async () => {
    await theNight(masters);
    const { file, html } = await pageOf('nightly-backup');
    const picture = join(folder, 'history.png');
    chromium(`--screenshot=${picture}`, `file://${file}`);
    expect(statSync(picture).size).toBeGreaterThan(10_000);
    const light = look(html);
    expect(light.hosts).toEqual(['web1', 'web2', 'web3']);
    expect(light.overflowPx).toBe(0);
    expect(light.rows).toBe(6);
    expect(light.runs).toEqual([
      ['done', 'done'],
      ['missed', 'wait', 'missed'],
      ['done', 'wait', 'done'],
      ['done', 'done'],
      ['failed', 'failed'],
      ['lost', 'lost'],
    ]);
    expect(light.texts.map(({ text }) => text)).toContain(
      'backup: did not run: held by ops@web2, pid 4711, restore.sh, since 2026-11-20 22:00:00',
    );
    expect(light.colours.paper).toBe('rgb(255, 255, 255)');
  });

  test('on a phone, with what people did: nothing is cut, and no text is on another', async () => {
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
    // Some versions have no window below 500 px. The picture is as wide as the page at any width.
    const phone = look(html, '--window-size=400,900');
    expect(phone.width).toBeLessThanOrEqual(500);
    expect(wide.hosts).toEqual(['people', 'web1', 'web2', 'web3']);
    expect(phone.hosts).toEqual(wide.hosts);
    for (const { acts, overflowPx, rows } of [wide, phone])
      expect({ acts, overflowPx, rows }).toEqual({
        acts: ['freeze', 'break'],
        overflowPx: 0,
        rows: 9,
      });
    expect(wide.texts.map(({ text }) => text)).toContain(
      'froze it: ann@laptop (pid 7): "the disk is full"',
    );
    for (const [index, text] of phone.texts.entries()) {
      expect(text.left, text.text).toBeGreaterThanOrEqual(0);
      expect(text.right, text.text).toBeLessThanOrEqual(phone.width);
      expect(phone.texts.slice(index + 1).filter((other) => overlap(text, other))).toEqual([]);
    }
    for (const { right } of phone.shapes) expect(right).toBeLessThanOrEqual(phone.width);
  });

  test('many runs, in dark: no text covered, all inside, foreign text escaped', async () => {
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
        'deploy',
        at,
        index % 6 === 5
          ? missedFor({ token: 'x', record }, { ...common, ...times, heldMs: null })
          : runOf({ ...common, ...times, exitCode: index % 4 }),
      );
    }
    const dark = look((await pageOf()).html, '--blink-settings=preferredColorScheme=0');
    const { texts, shapes, injected, overflowPx, colours } = dark;
    expect(colours.paper).toBe('rgb(13, 17, 23)');
    expect({ injected, overflowPx }).toEqual({ injected: 0, overflowPx: 0 });
    expect(texts.length).toBeGreaterThan(30);
    for (const [index, text] of texts.entries()) {
      expect(text.left).toBeGreaterThanOrEqual(0);
      expect(text.right).toBeLessThanOrEqual(1_200);
      expect(texts.slice(index + 1).filter((other) => overlap(text, other))).toEqual([]);
      const inside = (shape: Box) => text.left >= shape.left && text.right <= shape.right;
      expect(shapes.filter((shape) => overlap(text, shape) && !inside(shape))).toEqual([]);
    }
  });
});
