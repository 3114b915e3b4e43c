/** One configuration for every kind of test; `npm test -- test/unit` runs one kind. The set-up runs compiled: build first. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2022',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: false, useDefineForClassFields: false },
        },
        sourceMaps: 'inline',
      },
    ],
  },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Fastify's inject() and @fastify/static ask for ES modules that jest cannot require() before Node 24.9.
    '^content-disposition$': '<rootDir>/node_modules/content-disposition/index.js',
    '^cookie$': '<rootDir>/node_modules/cookie/dist/index.js',
  },
  globalSetup: '<rootDir>/dist/test/support/global-setup.js',
  globalTeardown: '<rootDir>/dist/test/support/global-teardown.js',
  setupFiles: ['reflect-metadata'],
  setupFilesAfterEnv: ['<rootDir>/test/support/conformance-setup.ts'],
  testTimeout: 90_000,
  maxWorkers: 2,
};
