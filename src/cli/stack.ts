// The stack of a bug as places in our sources, for the report that a user sends. Loaded when there is a bug. The surprise:
// bundles do not name their maps, or Node would look for them; they lie beside the bundles.

import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';

/** The stack with every place in a bundle replaced by the one it was made from; as it is, where there is no map. */
export function originalStack(stack: string): string {
  const maps = new Map<string, SourceMap | null>();
  return stack.replace(/([^\s(]+\.js):(\d+):(\d+)/g, (place, file: string, line: string, column: string) => {
    if (!maps.has(file)) maps.set(file, mapOf(file));
    const origin = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (!origin || !('originalSource' in origin)) return place;
    const source = origin.originalSource.replace(/^(\.\.\/)+/, '');
    return `${source}:${origin.originalLine + 1}:${origin.originalColumn + 1}`;
  });
}

function mapOf(bundle: string): SourceMap | null {
  const file = `${bundle}.map`;
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null;
}
