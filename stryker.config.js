/**
 * Mutation tests of the rules that decide (docs/decisions/0048): `npm run mutation -- access`. Each area is some files of
 * `src`, with the tests that are to notice when one of them decides otherwise.
 */
export const areas = {
  access: {
    rules: [
      'domain/access/{rights,assignments/takeover,roles/granting,windows/moments}',
      'domain/access/decisions/{evaluate,explain,explain-in-words,explained,search}',
      'platform/database/batching',
    ],
    tests: ['unit/access-rules', 'unit/batching'],
  },
  assignments: {
    rules: [
      'domain/access/assignments/{assigned-roles,assigning,assignments,removing}',
      'domain/access/windows/{mails,rows,windows}',
    ],
    tests: [
      'integration/public/role-assignments',
      'integration/role-window-mails',
      'integration/public/identities',
      'integration/public/identities-access',
      'integration/public/identities-bulk',
      'integration/identity-invites',
      'integration/organizations-invitations',
      'integration/public/organizations-members',
      'integration/portal/removals',
    ],
  },
  roles: {
    rules: ['domain/access/roles/{catalog,permissions,roles,seed,setup}', 'domain/access/decisions/root-permissions'],
    tests: [
      'integration/public/permissions',
      'integration/public/roles',
      'integration/public/roles-rights',
      'integration/portal/setup-permissions',
      'integration/access-models-of-environments',
      'integration/public/role-assignments',
    ],
  },
  logins: {
    rules: [
      'domain/logins/{address,api-challenges,api-own,api-selections,emailed-codes,gate,password,pending-sign-ins}',
    ],
    tests: ['unit/login-rules'],
  },
  attempts: {
    rules: ['domain/logins/attempts'],
    tests: ['integration/login-attempts'],
  },
  passkeys: {
    rules: ['domain/logins/passkey'],
    tests: ['integration/webauthn-passkey'],
  },
  'emailed-codes': {
    rules: ['domain/logins/{email-otp,email-otp-admission,emailed-codes,mails}'],
    tests: [
      'unit/login-rules',
      'integration/oauth/email-code',
      'integration/oauth/email-code-sign-up',
      'integration/oauth/throttles',
    ],
  },
  passwords: {
    rules: ['domain/logins/{own-password,own-profile,password-reset}'],
    tests: ['integration/oauth/password-reset', 'integration/oauth/account-password'],
  },
  sessions: {
    rules: ['domain/logins/{api-me,api-sessions}'],
    tests: ['integration/identity-auth/sessions'],
  },
  factors: {
    rules: ['domain/logins/{api-factors,api-password}'],
    tests: ['integration/identity-auth/factors', 'integration/identity-auth/password'],
  },
  'user-api': {
    // What only composes (logins, api-logins) is held by the compiler: its mutants are objects without what is required.
    rules: ['domain/logins/{api-grants,api-sign-in,sign-in-terms}'],
    tests: [
      'unit/api-sign-in',
      'integration/identity-auth/login',
      'integration/identity-auth/mfa',
      'integration/identity-auth/select-application',
    ],
  },
  clients: {
    rules: [
      'domain/cached-credentials',
      'domain/oidc/{provider,requests/requested-organization}',
      'domain/oidc/clients/{assertions,clients,keys,management}',
    ],
    tests: [
      'unit/cached-clients',
      'integration/oauth/client-assertions',
      'integration/oauth/organization-parameter',
      'integration/oauth/token',
      'integration/oauth/presented-tokens',
      'integration/portal/oauth-clients',
    ],
  },
  keys: {
    rules: ['domain/oidc/{discovery,keys,stored-keys}', 'domain/oidc/tokens/{access-tokens,verified-tokens}'],
    tests: [
      'unit/verified-tokens',
      'unit/oidc-rules',
      'integration/oauth/signing-keys',
      'integration/reencrypt',
      'integration/oauth/discovery',
      'integration/oauth/presented-tokens',
      'integration/oauth/token',
    ],
  },
  oidc: {
    rules: [
      'domain/oidc/{scopes,clients/authentication,clients/redirect-uris,clients/rules,tokens/claims,tokens/pkce}',
      'domain/oidc/requests/{account-request,authorize-request,hints,interaction,logout-request,parameters}',
    ],
    tests: ['unit/oidc-rules', 'unit/oidc-authorize-request', 'unit/oidc-clients'],
  },
  tokens: {
    rules: ['domain/oidc/tokens/{codes,grants,presented-tokens,refresh-tokens,tokens}'],
    tests: [
      'unit/presented-tokens',
      'integration/oauth/token',
      'integration/oauth/refresh-tokens',
      'integration/oauth/presented-tokens',
      'integration/oauth/authorize',
      'integration/identity-auth/select-application',
    ],
  },
  saml: {
    rules: ['domain/sso-protocols/saml/*'],
    tests: [
      'unit/saml-responses',
      'unit/saml-hostile',
      'unit/saml-encryption',
      'unit/saml-logout',
      'unit/saml-metadata',
      'unit/saml-samlify',
      'unit/saml-signatures',
      'unit/saml-envelopes',
      'unit/saml-assertions',
    ],
  },
  browsers: {
    rules: ['http/browsers/{client-origins,cors,form-bodies,origin,provider-sign-out,secret-cookie}'],
    tests: ['unit/browsers', 'unit/form-bodies'],
  },
  crypto: {
    rules: ['platform/crypto/{jws,master-keys,one-time-secret,sealed-json,sealing}'],
    tests: ['unit/jws', 'unit/master-keys', 'unit/one-time-secret', 'unit/sealing'],
  },
  'sso-openid': {
    rules: ['domain/sso-protocols/{assertion,signing-keys,provider-message}', 'domain/sso-protocols/oidc/*'],
    tests: ['unit/sso-oidc', 'unit/sso-logout-token', 'unit/sso-client-authentication', 'integration/oauth/sso'],
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
