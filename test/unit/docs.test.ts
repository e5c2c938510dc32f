// The pages of the repository among one another: links lead to files and headings that exist, and
// the indexes of docs/ and of its decisions have every page.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const docs = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => path.join('docs', file));
const others = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'test/README.md'];

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const withoutCode = (text: string) => text.replace(/```[\s\S]*?```/g, '').replace(/`[^`\n]*`/g, '');

/** The anchor of a heading, as forges make it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

/** The links of a page that lead nowhere. */
function brokenLinks(page: string, text: string): string[] {
  const links = withoutCode(text).matchAll(/(?:\]\(|src(?:set)?=")(?!\w+:)([^)\s"]+)[)"]/g);
  return [...links].flatMap(([, link = '']) => {
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? page : path.join(path.dirname(page), file);
    if (!existsSync(path.join(root, target))) return [link];
    const isKnown = anchor === undefined || anchorsOf(read(target)).includes(anchor);
    return isKnown ? [] : [link];
  });
}

describe('links', () => {
  it('a broken one is seen', () => {
    const text = '[a](none.md) [b](forms.md#none) [c](forms.md#slots) [d](https://e.org) `[e](x)`';
    expect(brokenLinks('docs/x.md', text)).toEqual(['none.md', 'forms.md#none']);
    const pictures = '<source srcset="none.svg"> <img src="top.svg"> <img src="none.png">';
    expect(brokenLinks('docs/x.md', pictures)).toEqual(['none.svg', 'none.png']);
  });

  it.each([...docs, ...others])('of %s lead somewhere', (page) => {
    expect(brokenLinks(page, read(page))).toEqual([]);
  });
});

/** The headings that a text names as `docs/PAGE.md, "HEADING"`, and that the page does not have. */
function missingHeadings(text: string): string[] {
  return [...text.matchAll(/(docs\/[\w-]+\.md), "([^"]+)"/g)].flatMap(
    ([, page = '', heading = '']) =>
      anchorsOf(read(page)).includes(anchorOf(heading)) ? [] : [heading],
  );
}

describe('headings that messages name', () => {
  it('a missing one is seen', () => {
    expect(missingHeadings('docs/forms.md, "Slots" docs/forms.md, "None"')).toEqual(['None']);
  });

  const sources = readdirSync(path.join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(path.join('src', file)));

  it('exist', () => {
    expect(sources.flatMap(missingHeadings)).toEqual([]);
  });
});

/** The numbers of the lines that install by npm, where the check is not within three lines. */
function uncheckedInstallations(text: string): number[] {
  const lines = text.split('\n');
  return lines.flatMap((line, at) => {
    if (!line.includes('npm install --global redlock-run')) return [];
    const near = lines.slice(Math.max(0, at - 3), at + 4);
    return near.some((one) => one.includes('redlockctl doctor')) ? [] : [at + 1];
  });
}

describe('the check beside the installation by npm', () => {
  it('one that is too far away is seen', () => {
    const install = 'npm install --global redlock-run';
    const text = `${install}\n\n\nredlockctl doctor\n\n\n\n${install}\n`;
    expect(uncheckedInstallations(text)).toEqual([8]);
  });

  it.each([...docs, ...others])('%s', (page) => {
    expect(uncheckedInstallations(read(page))).toEqual([]);
  });
});

/** The tests that play transcripts name them as the pages do. */
const tests = readdirSync(path.join(root, 'test/ctl'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => read(path.join('test/ctl', file)))
  .join('\n');
const isPlayed = (name: string) =>
  tests.includes(`${name} -->`) || tests.includes(`shown('${name}')`);

/** Blocks that show what a program printed, and neither are played by a test nor an example. */
function unprovenOutputs(text: string): string[] {
  const blocks = text.matchAll(/([^\n]*(?:\n[^\n]+)*?)\n\n?```(\w*)\n([\s\S]*?)\n```$/gm);
  return [...blocks].flatMap(([, before = '', language = '', code = '']) => {
    const lines = code.split('\n').filter((line) => line !== '');
    const hasPrompt = lines.some((line) => line.startsWith('$ '));
    const shows =
      lines.some((line) => /^redlock(-run|ctl): /.test(line)) ||
      (hasPrompt && lines.some((line) => !line.startsWith('$ ')));
    const [, name = null] = /<!-- transcript:?(\S*) -->$/.exec(before) ?? [];
    const isProven = name !== null && isPlayed(name === '' ? 'transcript' : name);
    return !shows || isProven || /\bexample\b/.test(before) ? [] : [`${language}: ${lines[0]}`];
  });
}

describe('what a page shows of a program', () => {
  it('one that is neither played nor an example is seen', () => {
    const block = '```console\n$ redlockctl status a\n"a": free\n```';
    expect(unprovenOutputs(`This is so:\n\n${block}`)).toEqual(['console: $ redlockctl status a']);
    expect(unprovenOutputs(`<!-- transcript:none -->\n${block}`)).toHaveLength(1);
    expect(unprovenOutputs(`<!-- transcript:killed -->\n${block}`)).toEqual([]);
    expect(unprovenOutputs(`For example:\n\n${block}`)).toEqual([]);
    expect(unprovenOutputs('So:\n\n```\nredlock-run: busy: "a"\n```')).toHaveLength(1);
    expect(unprovenOutputs('So:\n\n```console\n$ redlockctl top\n```')).toEqual([]);
  });

  it.each([...docs, ...others])('in %s is played by a test, or called an example', (page) => {
    expect(unprovenOutputs(read(page))).toEqual([]);
  });
});

describe('an index has every page', () => {
  it('docs/README.md', () => {
    const pages = docs.filter((file) => path.dirname(file) === 'docs' && file !== 'docs/README.md');
    const index = read('docs/README.md');
    expect(pages.filter((file) => !index.includes(`](${path.basename(file)})`))).toEqual([]);
  });

  it('docs/decisions/README.md, under its title', () => {
    const pages = docs.filter((file) => /^docs\/decisions\/\d/.test(file));
    const index = read('docs/decisions/README.md').replace(/\s+/g, ' ');
    expect(pages.length).toBeGreaterThan(0);
    for (const file of pages) {
      const name = path.basename(file);
      const title = /^# \d+\. (.*)$/m.exec(read(file))?.[1];
      expect(index).toContain(`- [${name.slice(0, 4)}](${name}): ${title}`);
    }
  });
});
