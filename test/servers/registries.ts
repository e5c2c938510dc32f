// For the suites that install packages from registries: what NODE_EXTRA_CA_CERTS was outside of the
// tests (certificates.ts).

const file = process.env.TEST_CA_CERTS;
if (file !== undefined) process.env.NODE_EXTRA_CA_CERTS = file;
