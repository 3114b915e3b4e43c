import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { answerPreflights } from '../browsers/cors.js';
import { countRefusals } from '../principals/client-limits.js';
import { credentialsOf } from '../principals/credentials.js';
import { identityCredential } from '../principals/identity.js';
import { registerEach } from '../register-each.js';
import { takeIdempotencyKeys } from '../surfaces/idempotency.js';
import { acceptInvite } from './accept-invite.js';
import { email } from './email.js';
import { inviteInfo } from './invite-info.js';
import { login } from './login.js';
import { logout } from './logout.js';
import { me } from './me.js';
import { emailOtpChallenge } from './mfa/challenge/email-otp.js';
import { recoveryCodeChallenge } from './mfa/challenge/recovery-code.js';
import { totpChallenge } from './mfa/challenge/totp.js';
import { webauthnChallenge } from './mfa/challenge/webauthn.js';
import { factorName } from './mfa/factor-name.js';
import { factors } from './mfa/factors.js';
import { recoveryCodes } from './mfa/recovery-codes.js';
import { totp } from './mfa/totp.js';
import { webauthn } from './mfa/webauthn.js';
import type { IdentityAuthOptions } from './options.js';
import { password } from './password.js';
import { passwordForgot } from './password-forgot.js';
import { passwordReset } from './password-reset.js';
import { refresh } from './refresh.js';
import { selectApplication } from './select-application.js';
import { sessions } from './sessions.js';
import { proofOf, provenOf, requireSignIn } from './signed-in.js';
import { verifyEmail } from './verify-email.js';

/** End-user authentication for clients with pages of their own, `/v1/identity/auth`: a file's path is its URL. */
export const identityAuth: FastifyPluginAsyncTypebox<IdentityAuthOptions> = async (
  app,
  { provider, logins, api, leaving, captcha, limits, idempotentRequests },
) => {
  // Without the prefix, which would be prepended again.
  const options = { provider, logins, api, leaving, captcha, limits, idempotentRequests };
  answerPreflights(app);
  await app.register(async (routes) => {
    countRefusals(routes, limits);
    routes.addHook('onRequest', async (request) => void credentialsOf(request)); // never two credentials
    await registerEach(routes, [login, selectApplication, refresh, logout], options);
    await registerEach(routes, [totpChallenge, recoveryCodeChallenge, emailOtpChallenge, webauthnChallenge], options);
    await registerEach(routes, [passwordForgot, passwordReset, verifyEmail, inviteInfo, acceptInvite], options);
  });
  await app.register(async (signedIn) => {
    requireSignIn(signedIn, options);
    const keys = {
      requests: idempotentRequests,
      credentialOf: (request: FastifyRequest) => identityCredential(provenOf(request)),
    };
    await signedIn.register(async (routes) => {
      takeIdempotencyKeys(routes, keys);
      await registerEach(routes, [me, sessions, password, email, factors, factorName], options);
    });
    await signedIn.register(async (secrets) => {
      // Any session of the person may repeat a request by its key: secrets and codes are only repeated to a session
      // that could get new ones.
      takeIdempotencyKeys(secrets, { ...keys, assertMayRepeat: (request) => api.own.assertRecent(proofOf(request)) });
      await registerEach(secrets, [totp, webauthn, recoveryCodes], options);
    });
  });
};
