import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { readForms } from '../browsers/form-bodies.js';
import { credentialsOf } from '../principals/credentials.js';
import { registerEach } from '../register-each.js';
import { takeIdempotencyKeys } from '../surfaces/idempotency.js';
import { acceptInvite } from './accept-invite.js';
import { accounts } from './accounts.js';
import { accountsId } from './accounts-id.js';
import { accountsResume } from './accounts-resume.js';
import { createAdminCookies } from './cookies.js';
import { email, pendingEmail } from './email.js';
import { emailConfirm } from './email-confirm.js';
import { inviteInfo } from './invite-info.js';
import { login } from './login.js';
import { logout } from './logout.js';
import { me } from './me.js';
import { recoveryCodeChallenge } from './mfa/challenge/recovery-code.js';
import { totpChallenge } from './mfa/challenge/totp.js';
import { webauthnChallenge } from './mfa/challenge/webauthn.js';
import { factors } from './mfa/factors.js';
import { recoveryCodes } from './mfa/recovery-codes.js';
import { totp } from './mfa/totp.js';
import { webauthn } from './mfa/webauthn.js';
import type { AdminAuthOptions } from './options.js';
import { letAdminScriptsCall, sameOrigin } from './origin.js';
import { passkey } from './passkey.js';
import { password } from './password.js';
import { passwordForgot } from './password-forgot.js';
import { passwordReset } from './password-reset.js';
import { refresh } from './refresh.js';
import { register } from './register.js';
import { selectApplication } from './select-application.js';
import { sessions } from './sessions.js';
import { requireSignIn, subjectOf, userOf } from './signed-in.js';
import { sso as ssoStart } from './sso.js';
import { verifyEmail } from './verify-email.js';
import { verifyEmailDecline } from './verify-email-decline.js';

/** Admin authentication, `/v1/auth`: a file's name is its path. */
export const adminAuth: FastifyPluginAsyncTypebox<AdminAuthOptions> = async (
  app,
  { users, sso, admins, limits, idempotentRequests, baseUrl, adminAppUrl, now },
) => {
  // Without the prefix, which would be prepended again.
  const options = { users, sso, admins, limits, idempotentRequests, baseUrl, adminAppUrl, now };
  letAdminScriptsCall(app, options, '');
  app.addHook('onRequest', async (request) => void credentialsOf(request)); // never two credentials
  // Without a credential, only the network address can be counted. Two routes have limits of their own (specification,
  // "Limits"), and an access token is counted by itself.
  await app.register(async (anonymous) => {
    anonymous.addHook('onRequest', (request, reply) => limits.general('anonymous', request.ip, reply));
    await anonymous.register(async (pages) => {
      readForms(pages); // their pages post forms
      const links = [verifyEmail, verifyEmailDecline, passwordReset, emailConfirm, acceptInvite];
      await registerEach(pages, [...links, ssoStart], options);
    });
    const challenges = [totpChallenge, recoveryCodeChallenge, webauthnChallenge];
    await registerEach(anonymous, [passkey, selectApplication, refresh, logout, ...challenges], options);
  });
  await registerEach(app, [register, login, inviteInfo, passwordForgot], options);
  const cookies = createAdminCookies(baseUrl);
  const keys = {
    requests: idempotentRequests,
    // The user and not the token: a retry may come with the next token.
    credentialOf: (request: FastifyRequest) => `platform_admin/${userOf(request)}`,
  };
  // Any session of the user may repeat a request by its key: secrets and codes are only repeated to a session that
  // could get new ones.
  const keysOfSecrets = {
    ...keys,
    assertMayRepeat: (request: FastifyRequest) => users.mfa.own.assertRecent(subjectOf(request)),
    mayRepeatCookies: async () => true, // none of these answers starts a session
  };
  await app.register(async (signedIn) => {
    requireSignIn(signedIn, admins);
    await signedIn.register(async (routes) => {
      takeIdempotencyKeys(routes, {
        ...keys,
        async mayRepeatCookies(lines) {
          const refreshToken = cookies.readSet(lines);
          return refreshToken !== null && users.sessions.isUnused(refreshToken);
        },
      });
      await registerEach(
        routes,
        [me, accountsId, sessions, password, accounts, accountsResume, factors, pendingEmail],
        options,
      );
    });
    await signedIn.register(async (secrets) => {
      takeIdempotencyKeys(secrets, keysOfSecrets);
      await registerEach(secrets, [totp, webauthn, recoveryCodes], options);
    });
  });
  await app.register(async (settingCookies) => {
    settingCookies.addHook('onRequest', sameOrigin(options)); // before anything else is checked
    requireSignIn(settingCookies, admins);
    takeIdempotencyKeys(settingCookies, keysOfSecrets);
    await registerEach(settingCookies, [email], options);
  });
};
