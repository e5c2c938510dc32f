#!/usr/bin/env node
process.on('SIGUSR1', () => {}); // As src/programs/no-inspector.ts, but before anything is loaded.
require('../dist/ctl.js')
  .main(process.argv.slice(2))
  .then((code) => {
    // At once: connections to masters that have frozen would keep the loop alive for seconds.
    process.exit(code);
  });
