// spawn() of node:child_process, to be imported where it is needed: most starts do not need it, and
// loading it takes milliseconds.

export { spawn } from 'node:child_process';
