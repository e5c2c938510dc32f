// Secrets are only on the connection: not in output, report, keys, values or arguments. Every way
// to give a password works.

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli, startCli } from '../servers/run-cli.ts';
import { scratchFolder } from '../servers/watchdog.ts';
import { fileWith, obedient, useMasters } from './rig.ts';

const secret = 'hunter2/@:%';
const encoded = encodeURIComponent(secret);
const { masters: guarded } = useMasters(3, { config: { requirepass: secret } });
const withPassword = (password: string) =>
  guarded.map((each) => each.url.replace('://', `://:${password}@`)).join(',');
const grace = { REDLOCK_RESTART_GRACE: '0' };

test('a password that is refused: 78 at once, one line without the password', async () => {
  const results = await Promise.all(
    ['wrong-secret', ''].map((password) =>
      runCli(['name', '--', 'true'], {
        env: { ...grace, REDLOCK_MASTERS: withPassword(password) },
      }),
    ),
  );
  expect(results.map(({ code }) => code)).toEqual([78, 78]);
  expect(results[0]?.stderr).toMatch(/^redlock-run: masters: unix:\/\/\*\*\*@.*WRONGPASS[^\n]*\n$/);
  expect(results[1]?.stderr).toMatch(/^redlock-run: masters: .*NOAUTH[^\n]*\n$/);
  for (const { stderr } of results) expect(stderr).not.toContain('wrong-secret');
});

test('a password works from the environment, the file and a passwordFile', async () => {
  const urls = guarded.map((each) => each.url);
  const file = fileWith(
    `masters:\n${urls.map((each) => `  - ${each}\n`).join('')}` +
      `passwordFile: ${fileWith(`${secret}\n`)}\n`,
  );
  const list = `masters:\n${urls.map((each) => `  - ${each}\n`).join('')}password: \${DOOR}\n`;
  const results = await Promise.all([
    runCli(['b', '--', 'true'], {
      env: { ...grace, REDLOCK_MASTERS: urls.join(','), REDLOCK_PASSWORD: secret },
    }),
    runCli(['--config', file, 'c', '--', 'true'], { env: grace }),
    runCli(['--config', fileWith(list), 'd', '--', 'true'], { env: { ...grace, DOOR: secret } }),
  ]);
  expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(Array(3).fill([0, '']));
});

test('secrets are in no output, report, key or value', async () => {
  const report = join(mkdtempSync(join(scratchFolder(), 'report-')), 'report');
  const env = { ...grace, REDLOCK_MASTERS: withPassword(encoded), REDLOCK_GIVE_UP_AFTER: '500ms' };
  const seen: string[] = [];
  const look = async (args: string[], more = {}) => {
    const { stdout, stderr } = await runCli(['-v', '--report', report, ...args], {
      env: { ...env, ...more },
    });
    seen.push(stdout, stderr, readFileSync(report, 'utf8'));
  };
  await look(['name', '--', 'sh', '-c', 'tr "\\\\0" "\\\\n" < /proc/$PPID/cmdline']);
  await guarded[0]?.kill();
  await look(['--log-format', 'json', 'name', '--', 'true']);
  await guarded[1]?.kill();
  await look(['name', '--', 'true']);
  await Promise.all([guarded[0]?.restart(), guarded[1]?.restart()]);
  const { stdout } = await runCli(['--dry-run', '-v', 'name', '--', 'true'], { env });
  seen.push(stdout);
  expect(stdout).toContain('***');
  const holder = startCli(['name', '--', ...obedient()], { env });
  await holder.says('stdout', /ready/);
  seen.push(
    String(await guarded[0]?.get('redlock:name')),
    String(await guarded[0]?.command('client', 'list')),
  );
  holder.signal('SIGTERM');
  await holder.result;
  for (const text of seen) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(encoded);
  }
});

test('a password works from the URL, and no debug output of packages shows it', async () => {
  const env = { ...grace, REDLOCK_MASTERS: withPassword(encoded), DEBUG: '*' };
  const ran = await runCli(['debugged', '--', 'true'], { env });
  expect([ran.code, ran.stderr]).toEqual([0, '']);
});

test('both programs warn of a password in an argument, without showing it', async () => {
  const flags = guarded.flatMap((each) => ['--master', each.url.replace('://', `://:${encoded}@`)]);
  const why =
    '--master: holds a password, which every user of this machine can see ' +
    '(use passwordFile, or REDLOCK_MASTERS)';
  const ran = await runCli([...flags, 'seen', '--', 'true'], { env: grace });
  expect([ran.code, ran.stderr]).toEqual([0, `redlock-run: warning: ${why}\n`]);
  const looked = await runCli(['status', 'seen', ...flags], { program: 'redlockctl', env: grace });
  expect([looked.code, looked.stderr]).toEqual([0, `redlockctl: warning: ${why}\n`]);
});
