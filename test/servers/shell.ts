// Whether /bin/sh is dash or busybox. Other shells add variables of their own to the environment of
// what they start.

import { realpathSync } from 'node:fs';

export const isPlainShell = /dash|busybox/.test(realpathSync('/bin/sh'));
