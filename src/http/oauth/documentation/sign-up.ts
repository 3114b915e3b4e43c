import { Type } from 'typebox';
import { Nullable, OneOf } from '../../surfaces/schemas.js';
import { CheckYourEmail, PageRefusal, SignInBarred, SignInRequired } from './json.js';
import { authorizeParameters } from './login.js';
import { type Documentation, InJson, Page, page, text } from './page.js';

const forms = ['application/x-www-form-urlencoded', 'application/json'];
const tokenQuery = Type.Object({ token: Type.String({ description: 'From the emailed link' }) });
const refusals = {
  400: Page('The parameters are not valid'),
  403: Page('Sent from a foreign origin'),
};
/** The answers if the sign-in page is shown instead. */
const methodNotOffered = {
  401: InJson('Instead of the sign-in page', SignInRequired),
  403: Page('Sent from a foreign origin, or no sign-in method is left', PageRefusal, SignInBarred),
};
const passwordMinLength = Type.Integer({ description: 'The minimum length of the password, in characters' });
const fields = <const F extends string>(names: F[]) => Type.Array(OneOf(names), { description: 'The fields to send' });
const done = <const S extends string>(status: S) =>
  Type.Object({
    status: OneOf([status]),
    continue_to: Nullable(Type.String({ description: 'The authorization request that it started with, if any' })),
  });
const linkVoid = Page('The link is unknown, has expired or has already been used; another one is offered if possible');
/** A sentence for every form of a mailed link. */
const twice = 'A form that is sent twice within a minute gets the same response; JSON does not.';

/** The OpenAPI documentation of the pages for people who sign up, or have forgotten their password. */
export const signUpDocumentation: Documentation = {
  'GET /oauth/register': page('showSignUp', 'Show the sign-up page', {
    description:
      'Shows the sign-in page if sign-ups are disabled, and the email-code view in an environment without passwords: ' +
      'there, the first correct code creates the identity.',
    querystring: Type.Object(authorizeParameters),
    response: {
      200: Page(
        'The sign-up page',
        Type.Object({
          fields: fields(['email', 'password', 'first_name', 'last_name']),
          password_min_length: passwordMinLength,
          captcha: Nullable(Type.String({ description: 'The site key; null if no captcha is required' })),
        }),
      ),
      400: refusals[400],
      ...methodNotOffered,
    },
  }),
  'POST /oauth/register': page('signUp', 'Sign up', {
    description:
      'The response is the same for every email address; only its mailbox learns more. The new identity is unverified and ' +
      'cannot sign in until the emailed link is confirmed.',
    consumes: forms,
    body: Type.Object({
      ...authorizeParameters,
      email: text("The person's email address"),
      password: text(
        'As long as the environment requires, in no known data breach, and more than a name or an address',
      ),
      first_name: text('Up to 200 characters'),
      last_name: text('Up to 200 characters'),
      'cf-turnstile-response': text('Required if the environment requires a captcha'),
    }),
    response: {
      200: Page(
        'The sign-in page, which says to check the mailbox; or the form again with the errors (400 or 403 in JSON)',
        CheckYourEmail,
      ),
      ...refusals,
      ...methodNotOffered,
    },
  }),
  'GET /oauth/invite': page('showInvite', 'Show the page of an invite link', {
    description: 'Nothing is used up, so email scanners may open it.',
    querystring: tokenQuery,
    response: {
      200: Page(
        'Asks for names and a password; or for a click if the person already has a sign-in',
        Type.Object({
          email: Type.String(),
          place_name: Type.String({ description: 'Where the invite leads' }),
          fields: fields(['first_name', 'last_name', 'password']),
          password_min_length: passwordMinLength,
        }),
      ),
      400: Page('The link is unknown, has expired or has already been used'),
    },
  }),
  'POST /oauth/invite': page('submitInvite', 'Accept an invite', {
    description: `Like \`POST /v1/identity/auth/accept-invite\`, for the form. ${twice}`,
    consumes: forms,
    body: Type.Object({
      token: Type.String(),
      first_name: text('For a new person'),
      last_name: text('For a new person'),
      password: text('For a new person, if the environment allows passwords'),
    }),
    response: {
      200: Page(
        'Where to continue; or the form again with the errors (400 in JSON)',
        Type.Object({
          status: OneOf(['invite_accepted']),
          continue_to: Nullable(
            Type.String({ description: 'The site of the oldest client of the environment that has one' }),
          ),
        }),
      ),
      400: Page('The link is unknown, has expired or has already been used'),
      403: refusals[403],
    },
  }),
  'GET /oauth/verify-email': page('showConfirmSignUp', 'Show the page of a link that confirms an email address', {
    description: 'Nothing is used up, so email scanners may open it.',
    querystring: tokenQuery,
    response: {
      200: Page(
        'Asks for a click, or for the password of the sign-up',
        Type.Object({ email: Type.String(), asks: OneOf(['click', 'password', 'join']) }),
      ),
      400: linkVoid,
    },
  }),
  'POST /oauth/verify-email': page('confirmSignUp', 'Confirm the email address of a sign-up', {
    description:
      'With one click in the browser that signed up, which has a cookie; in any other browser with the password that was ' +
      `chosen, because it becomes the person's password. 10 attempts per link. ${twice}`,
    consumes: forms,
    body: Type.Object({ token: Type.String(), password: text('The password chosen at sign-up') }),
    response: {
      200: Page(
        'The email address is confirmed, with the way back; or the page again, because the password is not correct',
        done('email_verified'),
      ),
      400: linkVoid,
      401: InJson('The password is missing or wrong', PageRefusal),
      403: refusals[403],
    },
  }),
  'POST /oauth/verify-email/resend': page('resendVerificationMail', 'Resend the link that confirms an email address', {
    description:
      'With the `ticket` that the sign-in page gives to somebody who knew the password, together with the same OAuth ' +
      'parameters; or with the `token` of an expired link. At most 3 emails per person.',
    consumes: forms,
    body: Type.Object({
      ...Type.Partial(Type.Object(authorizeParameters)).properties,
      ticket: text('Encrypted; valid for 15 minutes'),
      email: text('With a ticket: the email address that was entered, to prefill the next page'),
      token: text('From an expired link'),
    }),
    response: { 200: Page('Says to check the mailbox', CheckYourEmail), ...refusals },
  }),
  'GET /oauth/password/forgot': page('showForgotPassword', 'Show the form for a forgotten password', {
    description:
      'Belongs to the sign-in page, and keeps the authorization request with which the person continues afterwards.',
    querystring: Type.Object(authorizeParameters),
    response: {
      200: Page('The form', Type.Object({ fields: fields(['email']) })),
      400: refusals[400],
      ...methodNotOffered,
    },
  }),
  'POST /oauth/password/forgot': page('submitForgottenPassword', 'Email a link for setting a new password', {
    description: 'The response is the same for every email address. At most 5 requests per hour and email address.',
    consumes: forms,
    body: Type.Object({ ...authorizeParameters, email: text("The person's email address") }),
    response: {
      200: Page('The sign-in page, which says that an email is on its way', CheckYourEmail),
      ...refusals,
      ...methodNotOffered,
    },
  }),
  'GET /oauth/password/reset': page('showResetPassword', 'Show the form for setting a new password', {
    description: 'Nothing is used up.',
    querystring: tokenQuery,
    response: {
      200: Page('The form', Type.Object({ email: Type.String(), password_min_length: passwordMinLength })),
      400: linkVoid,
    },
  }),
  'POST /oauth/password/reset': page('submitNewPassword', 'Set a new password with an emailed link', {
    description:
      'Marks the email address as verified, ends every session, grant and unfinished sign-in of the person, and notifies ' +
      `them by email. If the password is refused, the link keeps working. ${twice}`,
    consumes: forms,
    body: Type.Object({ token: Type.String(), password: text('The new password') }),
    response: {
      200: Page('The password is set, with the way back; or the form again (400 in JSON)', done('password_changed')),
      400: linkVoid,
      403: refusals[403],
    },
  }),
};
