// Installs an implementation at its exact version into the user's cache, by the client of its own
// registry, and says how its adapter is started. A missing toolchain is a reason, told by name, and
// no error. The folder of a complete installation is named after its contents.

import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { once } from '../servers/once.ts';
import type { Implementation, Registry } from './implementations.js';

/** A program that speaks the protocol of adapter.ts; the URLs of the masters are added. */
export interface Subject {
  readonly implementation: Implementation;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

interface Installer {
  /** The programs that have to be on the PATH. */
  readonly needs: readonly string[];
  /** The source of the adapter in adapters/. */
  readonly adapter: string;
  install(folder: string, packages: readonly string[]): void;
  start(folder: string, name: string): Omit<Subject, 'implementation'>;
}

export const pathOfAdapter = (file: string) =>
  fileURLToPath(new URL(`./adapters/${file}`, import.meta.url));

const installers: Record<Exclude<Registry, 'folder'>, Installer> = {
  npm: {
    needs: ['npm'],
    adapter: 'npm.js',
    install: (folder, packages) => {
      writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
      run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages);
    },
    start: (folder, name) => ({ args: [process.execPath, pathOfAdapter('npm.js'), name, folder] }),
  },
  Go: {
    needs: ['go'],
    adapter: 'redsync.go',
    install: (folder, packages) => {
      copyFileSync(pathOfAdapter('redsync.go'), join(folder, 'main.go'));
      run(folder, 'go', 'mod', 'init', 'adapter');
      run(folder, 'go', 'get', ...packages);
      run(folder, 'go', 'build', '-o', 'adapter', '.');
    },
    start: (folder, name) => ({ args: [join(folder, 'adapter'), name] }),
  },
  PyPI: {
    needs: ['python3'],
    adapter: 'pypi.py',
    install: (folder, packages) =>
      run(folder, 'python3', '-m', 'pip', 'install', '--quiet', '--target', folder, ...packages),
    start: (folder, name) => ({
      args: ['python3', pathOfAdapter('pypi.py'), name],
      env: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
    }),
  },
  'crates.io': {
    needs: ['cargo'],
    adapter: 'rslock.rs',
    install: (folder, packages) => {
      mkdirSync(join(folder, 'src'));
      copyFileSync(pathOfAdapter('rslock.rs'), join(folder, 'src', 'main.rs'));
      writeFileSync(join(folder, 'Cargo.toml'), manifestOf(packages));
      run(folder, 'cargo', 'build', '--quiet', '--release');
      copyFileSync(join(folder, 'target', 'release', 'adapter'), join(folder, 'adapter'));
      rmSync(join(folder, 'target'), { recursive: true });
    },
    start: (folder, name) => ({ args: [join(folder, 'adapter'), name] }),
  },
  Maven: {
    needs: ['mvn', 'javac'],
    adapter: 'Maven.java',
    install: (folder, packages) => {
      writeFileSync(join(folder, 'pom.xml'), pomOf(packages));
      run(folder, 'mvn', '-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=lib');
      run(folder, 'javac', '-cp', 'lib/*', '-d', 'classes', pathOfAdapter('Maven.java'));
    },
    start: (folder, name) => ({
      args: [
        'java',
        '-cp',
        `${join(folder, 'classes')}:${join(folder, 'lib', '*')}`,
        'Maven',
        name,
      ],
    }),
  },
};

/** How to start its adapter, installed first if need be; or why it cannot be run here. */
export function installed(implementation: Implementation): Subject | { readonly reason: string } {
  const { registry, packages, name } = implementation;
  if (registry === 'folder') {
    const adapter = join(process.env.INTEROP_SOURCES ?? '', name, 'adapter');
    if (!isExecutable(adapter)) return { reason: `no program ${adapter}` };
    return { implementation, args: [adapter, name] };
  }
  const { needs, adapter, install, start } = installers[registry];
  const missing = needs.filter((program) => !isOnPath(program));
  if (missing.length > 0) return { reason: `no ${missing.join(', no ')}` };
  try {
    const contents = [...packages, readFileSync(pathOfAdapter(adapter), 'utf8')];
    const folder = once(`interop/${registry}`, contents, (cwd) => install(cwd, packages));
    return { implementation, ...start(folder, name) };
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr || error).trim();
    return { reason: `not installed by ${needs[0]}: ${said.split('\n').at(-1)}` };
  }
}

function run(cwd: string, program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: 600_000 });
}

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    return isExecutable(join(folder, program));
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function manifestOf(packages: readonly string[]): string {
  const crates = packages.map((one) => {
    const [crate, version] = one.split('@');
    return `${crate} = { version = "=${version}", features = ["tokio-comp"] }\n`;
  });
  return `[package]
name = "adapter"
version = "0.0.0"
edition = "2021"

[dependencies]
${crates.join('')}tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
`;
}

function pomOf(packages: readonly string[]): string {
  const dependencies = packages.map((one) => {
    const [group, artifact, version] = one.split(':');
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${
      version
    }</version></dependency>`;
  });
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>interop</groupId><artifactId>adapter</artifactId><version>0</version>
<dependencies>${dependencies.join('\n')}</dependencies>
</project>
`;
}
