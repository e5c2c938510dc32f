// The floor of a start: a Node program that does what redlock-run must do, and nothing else. It
// asks each master by a bare socket, starts the command by the guard when a quorum has granted, and
// releases when the command has ended. No settings, no fence, no extensions, no queue, no errors:
// no lock could be built on it. CommonJS, because the bundles are.
// `bare-run.cjs SOCKET... -- COMMAND [ARG...]`

const childProcess = require('node:child_process') as typeof import('node:child_process');
const crypto = require('node:crypto') as typeof import('node:crypto');
const net = require('node:net') as typeof import('node:net');
const path = require('node:path') as typeof import('node:path');

/** The checkout is the working folder; the benchmark is compiled into a folder below it. */
const guard = path.resolve('dist/redlock-guard');
const ttlMs = 30_000;

/** An instant as the guard reads it, by the wall clock alone. */
function instantIn(ms: number): string {
  return `-,-,${Date.now() + ms}000000`;
}

function startCommand(command: readonly string[], onExit: () => void): void {
  const options = ['--protocol=1', '--signal=15', '--grace=1000'];
  const deadlines = [instantIn(ttlMs - 2_000), instantIn(ttlMs - 1_000)];
  const child = childProcess.spawn(guard, [...options, ...deadlines, '--', ...command], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe', 'pipe', 'pipe'],
  });
  const reports = (child.stdio as readonly unknown[])[5] as import('node:stream').Readable;
  reports.setEncoding('utf8').on('data', (text: string) => {
    if (/^exited /m.test(text)) onExit();
    if (/^(failed|unable) /m.test(text)) throw new Error(text);
  });
  child.once('exit', (code) => {
    if (code !== 0) throw new Error(`the guard exited with ${code}`);
  });
}

function run(args: readonly string[]): void {
  const end = args.indexOf('--');
  const command = args.slice(end + 1);
  const paths = args.slice(0, end);
  const value = crypto.randomBytes(20).toString('base64url');
  const release = () => {
    for (const socket of sockets) socket.write(requestOf('DEL', 'bare'));
  };
  let [grantedCount, releasedCount] = [0, 0];
  const sockets = paths.map((path) => {
    const socket = net.connect(path);
    socket.write(requestOf('SET', 'bare', value, 'NX', 'PX', String(ttlMs)));
    socket.once('data', () => {
      grantedCount += 1;
      if (grantedCount === Math.floor(paths.length / 2) + 1) startCommand(command, release);
      socket.once('data', () => {
        releasedCount += 1;
        if (releasedCount === paths.length) process.exit(0);
      });
    });
    return socket;
  });
}

function requestOf(...words: readonly string[]): string {
  const texts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
  return `*${words.length}\r\n${texts.join('')}`;
}

run(process.argv.slice(2));
