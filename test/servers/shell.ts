// What this machine's /bin/sh is. The surprise: some add variables of their own to what they start, so that no command is had ready by them.

import { realpathSync } from 'node:fs';

export const isPlainShell = /dash|busybox/.test(realpathSync('/bin/sh'));
