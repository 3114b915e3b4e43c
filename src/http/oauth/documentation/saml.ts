import { Type } from 'typebox';
import { type Documentation, Page, page, text } from './page.js';

const params = Type.Object({ connection_id: Type.String() });
const consumes = ['application/x-www-form-urlencoded'];
const stale = Page('No browser was sent away with this RelayState, it took too long, or there is no such connection');
const refused = Page('The message is refused; the page shows a code `sso.…`');
const onward = { description: 'Back to the provider with our response; or to `/sso/signed-out`', type: 'null' };
const signedOut = Page(
  'Signed out; the provider has no endpoint for a response, or no browser was sent away with this RelayState',
);

/** The OpenAPI documentation of the routes with which SAML identity providers are configured. */
export const samlDocumentation: Documentation = {
  'GET /sso/saml/:connection_id/metadata': page(
    'samlMetadata',
    'Get the service provider metadata of an SSO connection',
    {
      description:
        'SAML 2.0 metadata with the certificate of the key that signs the messages of this connection; with ' +
        '`encryption=true`, the certificate is also listed for encrypting assertions, which many providers do as soon as ' +
        'they find it.',
      params,
      querystring: Type.Object({ encryption: text('`true`: list the certificate for encryption too') }),
      response: {
        200: { description: 'The metadata', content: { 'application/samlmetadata+xml': { schema: Type.String() } } },
        400: stale,
      },
    },
  ),
  'POST /sso/saml/:connection_id/acs': page('samlAcs', 'Receive a SAML response of an identity provider', {
    description:
      "The assertion consumer service. It needs no cookies, because a form on the provider's site sends none: RelayState " +
      'identifies the request, once. An unsolicited response is accepted only if the connection allows it; its RelayState ' +
      'is the `client_id` whose environment the person goes to.',
    params,
    consumes,
    body: Type.Object({
      SAMLResponse: Type.String({ description: 'Base64, up to 256 KiB of XML' }),
      RelayState: text('As we sent it'),
    }),
    response: { 303: { description: 'To `/sso/complete`', type: 'null' }, 400: stale, 403: refused },
  }),
  'GET /sso/saml/:connection_id/slo': page('samlSlo', 'Receive a single logout message of an identity provider', {
    description:
      'Single logout with the HTTP-Redirect binding. A signed LogoutRequest ends the sessions that the person started ' +
      "through the connection in the provider's session that it names; a signed LogoutResponse answers ours.",
    params,
    querystring: Type.Object({
      SAMLRequest: text('A request of the provider'),
      SAMLResponse: text('The response to our request'),
      RelayState: text('Returned unchanged; with a response, as we sent it'),
      SigAlg: Type.String(),
      Signature: Type.String(),
    }),
    response: { 200: signedOut, 303: onward, 400: stale, 403: refused },
  }),
  'POST /sso/saml/:connection_id/slo': page('samlSloPost', 'Receive a single logout message by form', {
    description: 'Single logout with the HTTP-POST binding: the signature is inside the message.',
    params,
    consumes,
    body: Type.Object({
      SAMLRequest: text('A request of the provider'),
      SAMLResponse: text('The response to our request'),
      RelayState: text('Returned unchanged; with a response, as we sent it'),
    }),
    response: { 200: signedOut, 303: onward, 400: stale, 403: refused },
  }),
};
