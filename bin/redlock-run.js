#!/usr/bin/env node
const { main } = await import(new URL('../dist/main.js', import.meta.url).href);
process.exitCode = await main(process.argv.slice(2));
