// @ts-check
// The entries of the build; bundle.js builds them. A program begins in a small file, which loads
// the rest with the machine code of an earlier run (src/programs/code-cache.ts). The library is the
// only ES module.

/** Programs in one file each, which others or Node load: name in dist/ and entry in src/. */
export const small = {
  'redlock-run': 'src/programs/run-boot.ts',
  ctl: 'src/programs/ctl-boot.ts',
};

/** Programs that share their common code, in files of its own. */
export const large = {
  main: 'src/programs/redlock-run.ts',
  'ctl-main': 'src/programs/redlockctl.ts',
};

/** The library, which other programs import; its types come from the same file. */
export const library = { index: 'src/index.ts' };

/** All programs in one executable; the name it is called by selects one. */
export const standalone = { 'redlock-run': 'src/programs/standalone.ts' };

/** Modules that scripts and tests need as plain JavaScript; not in the package. */
export const forCheckout = {
  'server-program': 'src/local/server-program.ts',
  'local-masters': 'src/local/local-masters.ts',
  manual: 'scripts/man-pages.ts',
};
