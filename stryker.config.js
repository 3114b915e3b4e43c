/**
 * Mutation tests of the rules that decide (docs/decisions/0048): `npm run mutation -- access`. Each area is some files of
 * `src`, with the tests that are to notice when one of them decides otherwise.
 */
const areas = {
  access: {
    rules: [
      'domain/access/{evaluate,explain,explain-in-words,granting,rights,search,takeover,window-moments}',
      'platform/gathering',
    ],
    tests: ['unit/access-rules', 'unit/gathering'],
  },
  logins: {
    rules: [
      'domain/logins/{address,api-challenges,api-own,api-selections,emailed-codes,gate,password,pending-sign-ins}',
    ],
    tests: ['unit/login-rules'],
  },
  oidc: {
    rules: [
      'domain/oidc/{account-request,authorize-request,claims,client-authentication,client-rules,hints,interaction}',
      'domain/oidc/{logout-request,parameters,pkce,redirect-uris,scopes}',
    ],
    tests: ['unit/oidc-rules', 'unit/oidc-authorize-request', 'unit/oidc-clients'],
  },
  tokens: {
    rules: ['domain/oidc/{codes,grants,presented-tokens,refresh-tokens,tokens}'],
    tests: ['integration/oauth-token', 'integration/oauth-refresh-tokens', 'integration/oauth-presented-tokens'],
  },
};
const area = process.env.AREA ?? 'access';
const { rules, tests } = areas[area];

export default {
  testRunner: 'in-process',
  plugins: ['./test/mutation/runner.js'],
  tests: tests.map((name) => `test/${name}.test.ts`),
  coverageAnalysis: 'perTest',
  mutate: rules.map((files) => `src/${files}.ts`),
  // Statements to the database are texts: without theirs, nothing works and every test notices.
  mutator: { excludedMutations: ['StringLiteral'] },
  ignorePatterns: ['dist', 'docs', 'bench', 'examples', 'client'],
  tsconfigFile: 'none', // its preprocessor calls an API that TypeScript 7 does not have, and jest does without
  concurrency: 1,
  timeoutMS: 240_000, // the runner has its own limit for each test
  warnings: { slow: false },
  reporters: ['clear-text', 'json', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  tempDirName: '.cache/stryker',
  jsonReporter: { fileName: `.cache/mutation-${area}.json` },
};
