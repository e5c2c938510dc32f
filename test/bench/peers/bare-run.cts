// The floor of a start: two Node programs that do what redlock-run and its guard must do, and
// nothing else. They load koffi, ask each master by a bare socket, start the command when a quorum
// has granted and the guard has answered, and release. No settings, no fence, no deadlines, no
// queue, no errors: no lock could be built on it. CommonJS, because the bundles are.
// `bare-run.cjs SOCKET... -- COMMAND [ARG...]`

const childProcess = require('node:child_process') as typeof import('node:child_process');
const crypto = require('node:crypto') as typeof import('node:crypto');
const fs = require('node:fs') as typeof import('node:fs');
const net = require('node:net') as typeof import('node:net');

const koffi = require('koffi') as typeof import('koffi');

/** The descriptor of the pipe in the guard. */
const pipe = 3;
/** linux/prctl.h */
const setChildSubreaper = 36;

function becomeSubreaper(): void {
  const long = 'unsigned long';
  const prctl = koffi.load(null).func('prctl', 'int', ['int', long, long, long, long]);
  prctl(setChildSubreaper, 1, 0, 0, 0);
}

function runAsGuard(): void {
  becomeSubreaper();
  const buffer = Buffer.alloc(64 * 1024);
  const next = () =>
    fs.read(pipe, buffer, 0, buffer.length, null, (error, byteCount) => {
      if (error || byteCount === 0) process.exit(0);
      obey(buffer.toString('utf8', 0, byteCount));
      next();
    });
  const obey = (line: string) => {
    if (line === 'ready?\n') return fs.writeSync(pipe, 'ready\n');
    const { command, env } = JSON.parse(line) as { command: string[]; env: NodeJS.ProcessEnv };
    const [file = '', ...args] = command;
    const stdio = [0, 4, 5];
    return childProcess
      .spawn(file, args, { env, stdio, detached: true })
      .once('exit', () => fs.writeSync(pipe, 'ended\n'));
  };
  next();
}

function run(args: readonly string[]): void {
  const guard = childProcess.spawn(process.execPath, ['--v8-pool-size=0', __filename, 'guard'], {
    stdio: ['inherit', 'ignore', 'ignore', 'pipe', 1, 2],
    env: { PATH: process.env.PATH },
  });
  becomeSubreaper();
  const end = args.indexOf('--');
  const command = args.slice(end + 1);
  const paths = args.slice(0, end);
  const value = crypto.randomBytes(20).toString('base64url');
  const toGuard = guard.stdio[pipe] as import('node:stream').Duplex;
  let [grantedCount, releasedCount] = [0, 0];
  const sockets = paths.map((path) => {
    const socket = net.connect(path);
    socket.write(requestOf('SET', 'bare', value, 'NX', 'PX', '30000'));
    socket.once('data', () => {
      grantedCount += 1;
      if (grantedCount === Math.floor(paths.length / 2) + 1) toGuard.write('ready?\n');
      socket.once('data', () => {
        releasedCount += 1;
        if (releasedCount === paths.length) guard.kill('SIGKILL');
      });
    });
    return socket;
  });
  toGuard.setEncoding('utf8').on('data', (line: string) => {
    if (line === 'ready\n') toGuard.write(`${JSON.stringify({ command, env: process.env })}\n`);
    else for (const socket of sockets) socket.write(requestOf('DEL', 'bare'));
  });
  guard.once('exit', () => process.exit(0));
}

function requestOf(...words: readonly string[]): string {
  const texts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${texts.join('')}`;
}

const [first = '', ...rest] = process.argv.slice(2);
if (first === 'guard') runAsGuard();
else run([first, ...rest]);
