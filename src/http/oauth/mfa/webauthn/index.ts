import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { registerEach } from '../../../register-each.js';
import type { HostedOptions } from '../../options.js';
import { answerWebauthnInJson } from '../../webauthn-json.js';
import { challenge } from './challenge.js';
import { enroll } from './enroll.js';

/** Passkeys and security keys as second factors: the endpoints for the pages' script (`/oauth/mfa/webauthn/…`). */
export const webauthn: FastifyPluginAsyncTypebox<HostedOptions> = async (app, options) => {
  answerWebauthnInJson(app);
  await registerEach(app, [challenge, enroll], options);
};
