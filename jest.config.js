/** One configuration for every kind of test; `npm test -- test/unit` runs one kind. */
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
    // Fastify's inject() asks for cookie 2, an ES module that jest cannot require() before Node 24.9.
    '^cookie$': '<rootDir>/node_modules/cookie/index.js',
  },
  testTimeout: 30_000,
  maxWorkers: 2,
};
