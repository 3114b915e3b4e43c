import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { registerEach } from '../../register-each.js';
import type { HostedOptions } from '../options.js';
import { applications } from './applications.js';
import { devices } from './devices.js';
import { email } from './email.js';
import { emailOtp } from './factors/email-otp.js';
import { removeFactor } from './factors/remove.js';
import { renameFactor } from './factors/rename.js';
import { totp } from './factors/totp.js';
import { webauthn } from './factors/webauthn.js';
import { launch } from './launch.js';
import { overview } from './overview.js';
import { password } from './password.js';
import { recoveryCodes } from './recovery-codes.js';
import { sessions } from './sessions.js';
import { createAccountVisits } from './visit.js';

/** The pages on which signed-in people manage their own account: `/oauth/account?client_id=…`. */
export const account: FastifyPluginAsyncTypebox<HostedOptions> = async (app, given) => {
  const options = { ...given, visits: createAccountVisits(given) };
  await registerEach(
    app,
    [
      overview,
      launch,
      password,
      email,
      totp,
      webauthn,
      emailOtp,
      removeFactor,
      renameFactor,
      recoveryCodes,
      sessions,
      devices,
      applications,
    ],
    options,
  );
};
