/**
 * Mutation tests of the rules that decide: `AREA=access npm run mutation`. Each area with the tests that are to notice; they
 * run on a PostgreSQL of their own run, or on that of `GATEHOUSE_TEST_SERVER`, which saves its start for each mutant.
 */
const areas = {
  access: ['unit/gathering', 'integration/access-model', 'integration/public-authorization'],
  roles: ['integration/public-roles', 'integration/public-role-assignments', 'integration/public-permissions'],
  logins: ['integration/oauth-attempts', 'integration/oauth-email-code'],
  oidc: ['unit/oidc-*', 'integration/oauth-token', 'integration/oauth-refresh-tokens'],
};
const rules = {
  access: ['access/{evaluate,explain,granting,rights,takeover}.ts'],
  roles: ['access/{assigning,assignments,roles,taking,catalog}.ts'],
  logins: ['logins/{attempts,password,emailed-codes,email-otp,gate,address}.ts'],
  oidc: [
    'oidc/{redirect-uris,pkce,scopes,parameters,client-rules,authorize-request,hints,interaction,claims}.ts',
    'oidc/{codes,refresh-tokens,grants,presented-tokens}.ts',
  ],
};
const area = process.env.AREA ?? 'access';

export default {
  testRunner: 'jest',
  plugins: ['@stryker-mutator/jest-runner'],
  jest: {
    configFile: 'jest.config.js',
    config: { testMatch: areas[area].map((name) => `**/test/${name}.test.ts`) },
    enableFindRelatedTests: false,
  },
  // Tests run in the runner's own process, where modules stay loaded (docs/decisions/0031): a mutant costs what its tests do.
  coverageAnalysis: 'off',
  mutate: rules[area].map((files) => `src/domain/${files}`),
  // Statements to the database are texts: without theirs, nothing works and every test notices.
  mutator: { excludedMutations: ['StringLiteral'] },
  tsconfigFile: 'none', // its preprocessor calls an API that TypeScript 7 does not have, and jest does without
  concurrency: 1,
  timeoutMS: 60_000,
  reporters: ['clear-text', 'json'],
  clearTextReporter: { allowColor: false, logTests: false },
  tempDirName: '.cache/stryker',
  jsonReporter: { fileName: `.cache/mutation-${area}.json` },
};
