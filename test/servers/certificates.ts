// NODE_EXTRA_CA_CERTS, where a machine sets it, makes each start of Node read a file of
// certificates before any program: 60 to 100 ms, more than an empty program takes. Only a client
// of a registry needs them, so the other tests and the programs that they start do without.

/** Called by the process that runs the tests, before it starts any other. */
export function keepCertificates(): void {
  const file = process.env.NODE_EXTRA_CA_CERTS;
  if (file === undefined) return;
  process.env.TEST_CA_CERTS = file;
  delete process.env.NODE_EXTRA_CA_CERTS;
}
