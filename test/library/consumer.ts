// A program that has installed the package: a folder in which modules are compiled and run. ioredis
// and the types of Node in it are those of the checkout.

import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';
import { install, type Packed } from '../servers/packed.ts';
import { generous } from '../servers/patience.ts';

const run = promisify(execFile);
export const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));

export class Consumer {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async of(packed: Packed): Promise<Consumer> {
    const consumer = new Consumer(await install(packed));
    for (const name of ['@types', '@ioredis']) mkdirSync(consumer.#module(name));
    for (const name of [
      '@types/node',
      'undici-types',
      'ioredis',
      'ioredis-5',
      '@ioredis/commands',
    ]) {
      symlinkSync(join(modules, name), consumer.#module(name));
    }
    return consumer;
  }

  /** Runs JavaScript; an unhandled rejection ends it. */
  async run(text: string, args: readonly string[] = [], name = 'program.mjs') {
    writeFileSync(join(this.folder, name), text);
    const all = ['--unhandled-rejections=strict', name, ...args];
    return run(process.execPath, all, { cwd: this.folder, timeout: generous(20_000) });
  }

  /**
   * Compiles TypeScript programs together, strictly, and checks the types of their packages as
   * well. Returns the messages of the compiler for each program; messages about the types of a
   * package are added to all.
   */
  async complaintsAbout(...texts: string[]): Promise<string[]> {
    const files = texts.map((_, index) => `program-${index}.mts`);
    for (const [index, text] of texts.entries())
      writeFileSync(join(this.folder, files[index] as string), text);
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false'];
    const target = ['--noEmit', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const args = [join(modules, 'typescript', 'bin', 'tsc'), ...target, ...strict, ...files];
    const said = await run(process.execPath, args, {
      cwd: this.folder,
      timeout: generous(60_000),
    }).then(
      () => '',
      ({ stdout }: { stdout: string }) => stdout,
    );
    // The first line of a message names its file; the others are indented.
    const complaints = said.split(/\n(?=\S)/);
    const isOfAnother = (complaint: string, file: string) =>
      /^program-/.test(complaint) && !complaint.startsWith(`${file}(`);
    return files.map((file) =>
      complaints.filter((complaint) => !isOfAnother(complaint, file)).join('\n'),
    );
  }

  /** Compiles TypeScript to JavaScript for this Node. */
  async translated(text: string): Promise<string> {
    const input = join(this.folder, 'program.ts');
    writeFileSync(input, text);
    const build = await rolldown({
      input,
      external: ['redlock-run', 'ioredis'],
      transform: { target: 'node20' },
    });
    const { output } = await build.generate({ format: 'esm' });
    await build.close();
    return output[0].code;
  }

  #module(name: string): string {
    return join(this.folder, 'node_modules', name);
  }
}
