// The configuration file as a layer: its scalar keys as texts, its masters with the line of each.
// search.ts finds the file, yaml.ts parses it, schema.ts checks its shape.
// The libraries of both are loaded only for a file with text in it: loading them takes longer than
// reading the file.

import { dirname } from 'node:path';
import { type Given, isScalarKey, keyTable, type Layer, type ScalarKey } from './keys.ts';
import type { MasterEntry, TlsEntry } from './schema.ts';
import type { FoundFile } from './search.ts';
import type { DataPath, YamlData } from './yaml.ts';

export interface ConfigFile {
  readonly path: string;
  readonly layer: Layer;
  /** Null when the key is absent. */
  readonly masters: ConfigList | null;
  readonly tls: { readonly entry: TlsEntry; readonly subject: string } | null;
  readonly warnings: readonly string[];
}

export interface ConfigList {
  /** `/etc/redlockrc:3` */
  readonly source: string;
  readonly subject: string;
  readonly entries: readonly {
    readonly entry: MasterEntry;
    readonly source: string;
    readonly subject: string;
  }[];
}

/** @throws ConfigError with file, line and key */
export async function readConfigFile(
  file: FoundFile,
  environment: NodeJS.ProcessEnv,
): Promise<ConfigFile> {
  if (file.text.trim() === '')
    return { path: file.path, layer: new Map(), masters: null, tls: null, warnings: [] };
  const { parseYaml } = await import('./yaml.ts');
  const { checkConfig, refuseCommandsAndSecrets } = await import('./schema.ts');
  const visible = file.isConfined ? /^REDLOCK_/ : /^/;
  const yaml = parseYaml(file.path, file.text, environment, visible);
  if (file.isConfined) refuseCommandsAndSecrets(file.path, yaml);
  const data = checkConfig(file.path, yaml);
  const source = (...path: DataPath) => `${file.path}:${yaml.lineOf(path)}`;
  const layer = new Map<ScalarKey, Given>();
  for (const { key } of keyTable) {
    const value = data[key];
    if (!isScalarKey(key) || value === undefined) continue;
    const subject = `${source(key)}: ${key}`;
    layer.set(key, {
      text: String(value),
      layer: 'file',
      source: source(key),
      subject,
      base: dirname(file.path),
    });
  }
  const entries = data.masters?.map((entry, index) => ({
    entry: typeof entry === 'string' ? { url: entry } : entry,
    source: source('masters', index),
    subject: `${source('masters', index)}: masters[${index}]`,
  }));
  return {
    path: file.path,
    layer,
    masters: entries
      ? { source: source('masters'), subject: `${source('masters')}: masters`, entries }
      : null,
    tls: data.tls ? { entry: data.tls, subject: `${source('tls')}: tls` } : null,
    warnings: warningsAbout(file, yaml),
  };
}

function warningsAbout(file: FoundFile, yaml: YamlData): string[] {
  const isReadableByOthers = (file.mode & 0o044) !== 0;
  if (!isReadableByOthers || !yaml.literals.some(holdsPassword)) return [];
  return [
    `${file.path}: holds a password and is readable by others (chmod 600 it, or use passwordFile)`,
  ];
}

function holdsPassword({ path, text }: { path: DataPath; text: string }): boolean {
  if (path.at(-1) === 'password') return !text.includes('${');
  const password = path[0] === 'masters' ? /:\/\/[^:@/]*:(.+)@/.exec(text)?.[1] : undefined;
  return password !== undefined && !password.includes('${');
}
