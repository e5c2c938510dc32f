// execa, which starts the command and the script of --on-lost, loaded so that it leaves the
// caller's streams alone. To be imported from here only.

import './hidden-streams.ts'; // First.

import { execa } from 'execa';
import { showOutput } from './hidden-streams.ts';

showOutput();

export { execa };
