import { Type } from 'typebox';
import { Nullable, OneOf } from '../schemas.js';
import { CheckYourEmail, PageRefusal, SignInBarred, SignInRequired } from './documentation-json.js';
import { authorizeParameters } from './documentation-login.js';
import { type Documentation, InJson, Page, page, text } from './documentation-page.js';

const forms = ['application/x-www-form-urlencoded', 'application/json'];
const tokenQuery = Type.Object({ token: Type.String({ description: 'Of the link in the mail' }) });
const refusals = {
  400: Page('The parameters are not valid'),
  403: Page('Sent from a foreign origin'),
  429: Page('Too many; `Retry-After` says when'),
};
/** What is answered where the sign-in page is shown instead. */
const notThisWay = {
  401: InJson('Instead of the sign-in page', SignInRequired),
  403: Page('Sent from a foreign origin; or no way of signing in is left', PageRefusal, SignInBarred),
};
const passwordMinLength = Type.Integer({ description: 'Of the password, in characters' });
const fields = <const F extends string>(names: F[]) => Type.Array(OneOf(names), { description: 'What to send' });
const done = <const S extends string>(status: S) =>
  Type.Object({
    status: OneOf([status]),
    continue_to: Nullable(Type.String({ description: 'The authorization request that it began with, if any' })),
  });
const linkVoid = Page('The link is unknown, has expired or was used already; another one is offered where that can be');
/** What the forms of mailed links say of themselves. */
const twice = 'A form that is sent twice within a minute is answered as the first one; JSON is not.';

/** What the OpenAPI document says of the pages of people who sign up, or have forgotten their password. */
export const signUpDocumentation: Documentation = {
  'GET /oauth/register': page('showSignUp', 'Ask somebody to sign up', {
    description:
      'The sign-in page where nobody may sign up, and the email-code view in an Environment without passwords: there the ' +
      'first right code makes the identity.',
    querystring: Type.Object(authorizeParameters),
    response: {
      200: Page(
        'The sign-up page',
        Type.Object({
          fields: fields(['email', 'password', 'first_name', 'last_name']),
          password_min_length: passwordMinLength,
          captcha: Nullable(Type.String({ description: 'The site key; null where none is demanded' })),
        }),
      ),
      400: refusals[400],
      ...notThisWay,
    },
  }),
  'POST /oauth/register': page('signUp', 'Sign up', {
    description:
      'Every address is answered alike; only its mailbox learns more. The new identity is not verified and cannot sign in ' +
      'before the mailed link is confirmed. 10 per 15 minutes per IP.',
    consumes: forms,
    body: Type.Object({
      ...authorizeParameters,
      email: text('Of the person'),
      password: text('As long as the Environment asks, in no known breach, and more than a name or an address'),
      first_name: text('Up to 200 characters'),
      last_name: text('Up to 200 characters'),
      'cf-turnstile-response': text('Where the Environment demands a captcha'),
    }),
    response: {
      200: Page(
        'The sign-in page, which says to check the mail; or the form again with what was wrong (400 or 403 in JSON)',
        CheckYourEmail,
      ),
      ...refusals,
      ...notThisWay,
    },
  }),
  'GET /oauth/invite': page('showInvite', 'Show the page of the link of an invite', {
    description: 'Nothing is consumed, so that mail scanners may open it.',
    querystring: tokenQuery,
    response: {
      200: Page(
        'Asks for names and a password, or for a click of who has a sign-in',
        Type.Object({
          email: Type.String(),
          place_name: Type.String({ description: 'Where the invite leads' }),
          fields: fields(['first_name', 'last_name', 'password']),
          password_min_length: passwordMinLength,
        }),
      ),
      400: Page('The link is unknown, has expired or was used already'),
    },
  }),
  'POST /oauth/invite': page('submitInvite', 'Accept an invite', {
    description: `As \`POST /v1/identity/auth/accept-invite\`, for the form. 20 per hour per IP. ${twice}`,
    consumes: forms,
    body: Type.Object({
      token: Type.String(),
      first_name: text('Of a new person'),
      last_name: text('Of a new person'),
      password: text('Of a new person, where the Environment has passwords'),
    }),
    response: {
      200: Page(
        'Where to go on; or the form again with what was wrong (400 in JSON)',
        Type.Object({
          status: OneOf(['invite_accepted']),
          continue_to: Nullable(
            Type.String({ description: 'The site of the oldest client of the Environment that has one' }),
          ),
        }),
      ),
      400: Page('The link is unknown, has expired or was used already'),
      403: refusals[403],
      429: refusals[429],
    },
  }),
  'GET /oauth/verify-email': page('showConfirmSignUp', 'Show the page of a link that confirms an address', {
    description: 'Nothing is consumed, so that mail scanners may open it.',
    querystring: tokenQuery,
    response: {
      200: Page(
        'Asks for a click, or for the password of the sign-up',
        Type.Object({ email: Type.String(), asks: OneOf(['click', 'password', 'join']) }),
      ),
      400: linkVoid,
    },
  }),
  'POST /oauth/verify-email': page('confirmSignUp', 'Confirm the address of a sign-up', {
    description:
      'By one click in the browser that signed up, which has a cookie of it; elsewhere with the password that was chosen, ' +
      `since it becomes the person’s. 20 per 15 minutes per IP, and 10 tries per link. ${twice}`,
    consumes: forms,
    body: Type.Object({ token: Type.String(), password: text('That the sign-up chose') }),
    response: {
      200: Page(
        'The address is confirmed, with the way back; or the page again, because the password is not right',
        done('email_verified'),
      ),
      400: linkVoid,
      401: InJson('The password is missing or wrong', PageRefusal),
      403: refusals[403],
      429: refusals[429],
    },
  }),
  'POST /oauth/verify-email/resend': page('resendVerificationMail', 'Send the link that confirms an address again', {
    description:
      'With the `ticket` that the sign-in page gives to somebody who knew the password, together with the same OAuth ' +
      'parameters; or with the `token` of a link that has expired. 5 per 15 minutes per IP, and 3 per person.',
    consumes: forms,
    body: Type.Object({
      ...Type.Partial(Type.Object(authorizeParameters)).properties,
      ticket: text('Sealed, good for 15 minutes'),
      email: text('With a ticket: what was typed, for the field of the page that answers'),
      token: text('Of an expired link'),
    }),
    response: { 200: Page('Says to check the mail', CheckYourEmail), ...refusals },
  }),
  'GET /oauth/password/forgot': page('showForgotPassword', 'Ask whose password was forgotten', {
    description: 'The form beside the sign-in page, with the authorization request that is gone on with afterwards.',
    querystring: Type.Object(authorizeParameters),
    response: { 200: Page('The form', Type.Object({ fields: fields(['email']) })), 400: refusals[400], ...notThisWay },
  }),
  'POST /oauth/password/forgot': page('submitForgottenPassword', 'Mail a link to a new password', {
    description: 'Every address is answered alike. 10 per 15 minutes per IP, and 5 per hour per address.',
    consumes: forms,
    body: Type.Object({ ...authorizeParameters, email: text('Of the person') }),
    response: {
      200: Page('The sign-in page, which says that a mail is on its way', CheckYourEmail),
      ...refusals,
      ...notThisWay,
    },
  }),
  'GET /oauth/password/reset': page('showResetPassword', 'Show the form of a link to a new password', {
    description: 'Nothing is consumed.',
    querystring: tokenQuery,
    response: {
      200: Page('The form', Type.Object({ email: Type.String(), password_min_length: passwordMinLength })),
      400: linkVoid,
    },
  }),
  'POST /oauth/password/reset': page('submitNewPassword', 'Set a new password with a mailed link', {
    description:
      'Counts the address as verified, ends every session, grant and half-done sign-in of the person, and mails a notice. A ' +
      `refused password leaves the link as it was. 20 per hour per IP. ${twice}`,
    consumes: forms,
    body: Type.Object({ token: Type.String(), password: text('The new one') }),
    response: {
      200: Page('It is set, with the way back; or the form again (400 in JSON)', done('password_changed')),
      400: linkVoid,
      403: refusals[403],
      429: refusals[429],
    },
  }),
};
