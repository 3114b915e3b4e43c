import { Type } from 'typebox';
import { type Documentation, Page, page, text } from './documentation-page.js';

const params = Type.Object({ connection_id: Type.String() });
const consumes = ['application/x-www-form-urlencoded'];
const stale = Page('Nobody was sent away with this RelayState, it took too long, or there is no such connection');
const refused = Page('The message is refused; the page has a code `sso.…`');
const onward = { description: 'Back to the provider with our answer; or to `/sso/signed-out`', type: 'null' };
const signedOut = Page(
  'Signed out; the provider has no place for an answer, or nobody here was sent away with this RelayState',
);

/** What the OpenAPI document says of the routes that SAML identity providers are told of. */
export const samlDocumentation: Documentation = {
  'GET /sso/saml/:connection_id/metadata': page('samlMetadata', 'What a provider imports about us', {
    description:
      'Metadata of SAML 2.0 with the certificate of the key that signs this connection’s messages; with `encryption=true` it is also there to encrypt assertions to, which many providers do as soon as they find it.',
    params,
    querystring: Type.Object({ encryption: text('`true`: to encrypt to, too') }),
    response: {
      200: { description: 'The metadata', content: { 'application/samlmetadata+xml': { schema: Type.String() } } },
      400: stale,
    },
  }),
  'POST /sso/saml/:connection_id/acs': page('samlAcs', 'Where a provider has a browser post its response', {
    description:
      'The assertion consumer service. It needs no cookies, since a form of the provider’s site brings none: RelayState names the request, once. A response that nobody asked for is taken only where the connection says so; its RelayState is the `client_id` whose Environment the person goes to.',
    params,
    consumes,
    body: Type.Object({
      SAMLResponse: Type.String({ description: 'base64, up to 256 KiB of XML' }),
      RelayState: text('As we sent it'),
    }),
    response: { 303: { description: 'To `/sso/complete`', type: 'null' }, 400: stale, 403: refused },
  }),
  'GET /sso/saml/:connection_id/slo': page('samlSlo', 'Where a provider sends messages of single logout', {
    description:
      'Single logout by redirect. A signed LogoutRequest ends the sessions that the person began by the connection in the session of the provider that it names; a signed LogoutResponse answers ours.',
    params,
    querystring: Type.Object({
      SAMLRequest: text('Of the provider'),
      SAMLResponse: text('To our request'),
      RelayState: text('Goes back as it came; of an answer, as we sent it'),
      SigAlg: Type.String(),
      Signature: Type.String(),
    }),
    response: { 200: signedOut, 303: onward, 400: stale, 403: refused },
  }),
  'POST /sso/saml/:connection_id/slo': page('samlSloPost', 'The same by a form', {
    description: 'Single logout by the HTTP-POST binding: the signature is inside the message.',
    params,
    consumes,
    body: Type.Object({
      SAMLRequest: text('Of the provider'),
      SAMLResponse: text('To our request'),
      RelayState: text('Goes back as it came; of an answer, as we sent it'),
    }),
    response: { 200: signedOut, 303: onward, 400: stale, 403: refused },
  }),
};
