/** One configuration for every kind of test; `npm test -- test/unit` runs one kind. The set-up runs compiled: build first. */
export default {
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Node loads the modules, once a process (docs/decisions/0031).
  testEnvironment: './test/runner/environment.js',
  runtime: '<rootDir>/test/runner/runtime.js',
  transform: {},
  testSequencer: '<rootDir>/test/runner/sequencer.js',
  globalSetup: '<rootDir>/dist/test/support/global-setup.js',
  globalTeardown: '<rootDir>/dist/test/support/global-teardown.js',
  setupFiles: ['reflect-metadata'],
  setupFilesAfterEnv: ['<rootDir>/test/support/conformance-setup.ts'],
  // Ends what hangs, also on a machine that is ten times slower: no test says anything about speed by it.
  testTimeout: 900_000,
  // Two more than the two cores that it is made for: where processes and workflows are tested, much is waited for, and one file waits
  // for half of the run (docs/decisions/0031).
  maxWorkers: 4,
};
