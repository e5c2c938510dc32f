// Parses YAML into plain data with line numbers, and replaces ${VAR}. *Invariant:* variables are
// replaced in the parsed strings and not in the text, so that no value can add YAML. *Invariant:* a
// message of the parser is passed on only where it cannot quote the file, which may hold a
// password.

import {
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import { ConfigError } from '../text/errors.ts';

/** A path into the data: `['masters', 1, 'password']`. */
export type DataPath = readonly (string | number)[];

export interface YamlData {
  /** The mapping; `{}` for an empty file. */
  readonly data: unknown;
  /** The line of the deepest node that the path reaches, from 1. */
  readonly lineOf: (path: DataPath) => number;
  /** The strings as written in the file, before ${VAR} was replaced, with the path of each. */
  readonly literals: readonly { readonly path: DataPath; readonly text: string }[];
}

/** Codes of errors with a message that quotes nothing. */
const harmlessCodes =
  /^(BAD_INDENT|MISSING_CHAR|TAB_AS_INDENT|MULTILINE_IMPLICIT_KEY|BLOCK_IN_FLOW)$/;

/**
 * Parses YAML 1.2, core schema: no tags, no anchors, no repeated keys, one document. `visible`
 * matches the names of the variables that may be used.
 * @throws ConfigError with file, line and, for variables, key
 */
export function parseYaml(
  path: string,
  text: string,
  environment: NodeJS.ProcessEnv,
  visible: RegExp,
): YamlData {
  const lines = new LineCounter();
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line);
  const fault = (line: number, why: string) => new ConfigError(`${path}:${line}: ${why}`);
  const document = parseDocument(text, {
    schema: 'core',
    version: '1.2',
    resolveKnownTags: false,
    stringKeys: true,
    prettyErrors: false,
    lineCounter: lines,
  });
  const error = document.errors[0] ?? document.warnings[0];
  if (error !== undefined) throw fault(lineAt(error.pos[0]), describe(error, text));
  const literals: { path: DataPath; text: string }[] = [];
  /** By path, of each key and each item of a list. */
  const linesByPath = new Map<string, number>();
  visit(document, {
    Node(position, node, ancestors) {
      const line = lineAt(node.range?.[0] ?? 0);
      if (isAlias(node) || node.anchor)
        throw fault(line, 'anchors and aliases are not supported (write the value again)');
      const keyPath = pathOf(ancestors, node);
      if (position !== 'value') linesByPath.set(JSON.stringify(keyPath), line);
      if (position === 'key' || !isScalar(node) || typeof node.value !== 'string') return;
      literals.push({ path: keyPath, text: node.value });
      node.value = withVariables(node.value, environment, visible, (why) =>
        fault(line, `${renderPath(keyPath)}: ${why}`),
      );
    },
  });
  if (document.contents !== null && !isMap(document.contents) && document.toJS() !== null)
    throw fault(1, 'not a mapping (write lines such as ttl: 30s)');
  return {
    data: document.toJS() ?? {},
    literals,
    lineOf: (keyPath) => {
      const found = keyPath.map((_, index) =>
        linesByPath.get(JSON.stringify(keyPath.slice(0, index + 1))),
      );
      return found.findLast((line) => line !== undefined) ?? 1;
    },
  };
}

/** `masters[1].password`. */
export function renderPath(path: DataPath): string {
  const text = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
  return typeof path[0] === 'string' ? text.slice(1) : text;
}

function withVariables(
  text: string,
  environment: NodeJS.ProcessEnv,
  visible: RegExp,
  fault: (why: string) => ConfigError,
): string {
  return text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (_, name: string | undefined, end: string) => {
    if (name === undefined) return '${';
    if (end === '' || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw fault(`not a variable (write \${NAME}, or $\${ for the two characters themselves)`);
    if (!visible.test(name)) {
      const why = 'only variables REDLOCK_... may be used in a file that was only found';
      throw fault(`\${${name}}: ${why} (name the file by --config to use it)`);
    }
    const value = environment[name];
    if (!value) throw fault(`\${${name}}: not set in the environment, or empty (set ${name})`);
    return value;
  });
}

function pathOf(ancestors: readonly unknown[], leaf: unknown): DataPath {
  const steps: (string | number)[] = [];
  for (const [index, ancestor] of ancestors.entries()) {
    const child = ancestors[index + 1] ?? leaf;
    if (isPair(ancestor) && isScalar(ancestor.key)) steps.push(String(ancestor.key.value));
    else if (isNode(ancestor) && 'items' in ancestor && !isMap(ancestor)) {
      steps.push((ancestor.items as unknown[]).indexOf(child));
    }
  }
  return steps;
}

function describe(error: YAMLError, text: string): string {
  if (error.code === 'DUPLICATE_KEY') {
    const key = /^["']?([\w-]+)/.exec(text.slice(error.pos[0]))?.[1] ?? 'a key';
    return `${key}: stands here a second time (keep one)`;
  }
  if (error.code === 'TAG_RESOLVE_FAILED')
    return 'not valid here: tags such as !name are not supported';
  if (error.code === 'MULTIPLE_DOCS') return 'not valid here: a second document (keep one)';
  if (error.code === 'BLOCK_AS_IMPLICIT_KEY') {
    return error.message.includes('sequence')
      ? 'not valid YAML: a dash left of the dashes above it (put them in one column)'
      : "not valid YAML: a value with a colon (put it in quotes: 'redlock:')";
  }
  const why = harmlessCodes.test(error.code) ? `: ${error.message.split('\n')[0]}` : '';
  return `not valid YAML${why}`;
}
