// @ts-check
// What is built from src/: a line a program. How it is built: bundle.js. The surprise: a program that must start fast begins
// in a file that holds next to nothing and loads the rest while something else is under way (src/boot.ts). The library starts nothing,
// and is the only one that is an ES module.

/** Programs that are loaded by others or by Node itself, one file each: name in dist/ and where it begins. */
export const small = {
  'redlock-run': 'src/boot.ts',
  guard: 'src/guard.ts',
};

/** Programs that share what they have in common, in files of their own. */
export const large = {
  main: 'src/main.ts',
  ctl: 'src/ctl.ts',
};

/** What other programs import; the types beside it are those of the same file. */
export const library = { library: 'src/library.ts' };

/** All of them in one executable, told apart by the name they are called by. */
export const standalone = { 'redlock-run': 'src/standalone.ts' };

/** What the scripts of a checkout and the tests need of src/ as plain JavaScript; not in the package. */
export const forCheckout = {
  'server-program': 'src/local/server-program.ts',
  'local-masters': 'src/local/local-masters.ts',
  manual: 'src/manual.ts',
};
