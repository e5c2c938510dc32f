// The pages of the repository among one another: links lead to files and headings that exist, and
// the indexes of docs/ and of its decisions have every page.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const docs = readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md'))
  .map((file) => path.join('docs', file));
const others = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'test/README.md'];

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
  const links = [...withoutCode(text).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)];
  return links.flatMap(([, link = '']) => {
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
  });

  it.each([...docs, ...others])('of %s lead somewhere', (page) => {
    expect(brokenLinks(page, read(page))).toEqual([]);
  });
});

it.each([...docs, ...others])('%s names the check beside the installation by npm', (page) => {
  const text = read(page);
  if (!text.includes('npm install --global redlock-run')) return;
  expect(text).toContain('redlockctl doctor');
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
