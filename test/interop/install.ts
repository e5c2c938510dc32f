// Installs an implementation at its exact version into the user's cache, by the client of its own
// registry, and says how its adapter is started. A missing toolchain is a reason, told by name, and
// no error. The folder of a complete installation is named after its contents. What is in no
// registry is used where the caller has it, at an exact commit.

import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
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
  /** A library that one of them has to have, and the command that fails without it. */
  readonly library?: { readonly name: string; readonly test: readonly [string, ...string[]] };
  /** The source of the adapter in adapters/. */
  readonly adapter: string;
  /** Absent: there is nothing to install. */
  install?(folder: string, packages: readonly string[]): void;
  /** `folder`: that of the installation, or of the sources if nothing is installed. */
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
      // Not made faster by the compiler, which takes twice as long to do that.
      const flags = ['-gcflags=all=-N -l', '-o', 'adapter'];
      run(folder, 'env', 'CGO_ENABLED=0', 'go', 'build', ...flags, '.');
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
  'Ruby source': ofSource('ruby', 'redlock.rb'),
  'PHP source': {
    ...ofSource('php', 'redlock.php', '-d', 'display_errors=stderr'),
    library: {
      name: 'extension redis of PHP',
      test: ['php', '-r', 'exit((int) !extension_loaded("redis"));'],
    },
  },
  'Perl source': {
    ...ofSource('perl', 'DistLock.pl'),
    library: { name: 'module Redis of Perl', test: ['perl', '-MRedis', '-e1'] },
  },
  'C++ source': {
    needs: ['g++', 'git'],
    adapter: 'redlock.cpp',
    install: (folder, [library = '']) => {
      const source = join(sources(), repositoryOf(library));
      const archives = ['bin/libredlock.a', 'hiredis/libhiredis.a'].map((one) => join(source, one));
      const missing = archives.find((one) => !existsSync(one));
      if (missing) throw new Error(`no ${missing} (the caller builds the library)`);
      const adapter = pathOfAdapter('redlock.cpp');
      run(folder, 'g++', '-w', '-I', source, '-o', 'adapter', adapter, ...archives);
    },
    start: (folder, name) => ({ args: [join(folder, 'adapter'), name] }),
  },
};

/** How to start its adapter, installed first if need be; or why it cannot be run here. */
export function installed(implementation: Implementation): Subject | { readonly reason: string } {
  const { registry, packages, name } = implementation;
  if (registry === 'folder') {
    const adapter = join(sources(), name, 'adapter');
    if (!isExecutable(adapter)) return { reason: `no program ${adapter}` };
    return { implementation, args: [adapter, name] };
  }
  const { needs, library, adapter, install, start } = installers[registry];
  const isSource = registry.endsWith(' source');
  if (isSource && sources() === '') return { reason: 'INTEROP_SOURCES is not set' };
  const missing = needs.filter((program) => !isOnPath(program));
  if (missing.length > 0) return { reason: `no ${missing.join(', no ')}` };
  if (library !== undefined && !succeeds(...library.test)) return { reason: `no ${library.name}` };
  const faults = isSource ? packages.map(faultOfSource).filter((fault) => fault !== null) : [];
  if (faults.length > 0) return { reason: faults.join(', ') };
  if (install === undefined) return { implementation, ...start(sources(), name) };
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

/** The folder that the caller names for what is in no registry; empty: none. */
function sources(): string {
  const folder = process.env.INTEROP_SOURCES ?? '';
  return folder && resolve(folder);
}

/** A library in a language that compiles as it runs: its adapter loads it from the sources. */
function ofSource(program: string, adapter: string, ...options: string[]): Installer {
  return {
    needs: [program, 'git'],
    adapter,
    start: (folder, name) => ({
      args: [program, ...options, pathOfAdapter(adapter), name, folder],
    }),
  };
}

/** OWNER/NAME, which is its folder in the sources too. */
const repositoryOf = (source: string) => source.split('@')[0] ?? '';

/** What is wrong with the checkout of OWNER/NAME@COMMIT; null: nothing. */
function faultOfSource(source: string): string | null {
  const folder = join(sources(), repositoryOf(source));
  const commit = source.split('@')[1] ?? '';
  if (!existsSync(join(folder, '.git'))) return `no checkout ${folder}`;
  if (succeeds('git', '-C', folder, 'diff', '--quiet', commit)) return null;
  return `${folder} is not as in commit ${commit}`;
}

function succeeds(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore', timeout: 60_000 }).status === 0;
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
