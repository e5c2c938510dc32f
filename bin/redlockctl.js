#!/usr/bin/env node
const { main } = await import(new URL('../dist/ctl.js', import.meta.url).href);
// At once: connections to masters that have frozen would keep the loop alive for seconds.
process.exit(await main(process.argv.slice(2)));
