import { randomUUID } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { baseUrl, type TestApi } from '../api.js';
import { type BentProvider, startBentProvider } from '../bent-provider.js';
import type { Browser } from '../oauth/browser.js';
import { partsOf, posted, type ResponseParts, signedResponse } from '../saml/provider.js';
import { answerTo, newSamlProvider, type SamlProvider } from '../saml/sign-in.js';
import type { Connection, Said } from './model.js';

type Of = Pick<Connection, 'id' | 'type' | 'provider'>;
type Pair<T> = readonly [T, T];

const formats = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  address: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
};
const pairwise = 'urn:oasis:names:tc:SAML:attribute:pairwise-id';
const origin = { origin: 'https://idp.acme.example' };

/** Identity providers that say of anybody whatever a history wants: two that speak SAML, two that speak OpenID Connect. */
export async function startProviders(api: Pick<TestApi, 'clock'>) {
  const saml: Pair<SamlProvider> = await Promise.all([newSamlProvider(), newSamlProvider('https://idp.other.example')]);
  const oidc: Pair<BentProvider> = await Promise.all([startBentProvider(), startBentProvider()]);

  /** The parts of a SAML answer. The second provider gives everybody a new NameID each time, beside a lasting pairwise id. */
  function partsFor({ provider }: Of, { subject, isAddress, email, firstName }: Said): Partial<ResponseParts> {
    const format = provider === 1 ? 'transient' : isAddress ? 'address' : 'persistent';
    return {
      nameId: provider === 1 ? `_${randomUUID()}` : subject,
      nameIdAttributes: ` Format="${formats[format]}"`,
      attributes: {
        givenName: [firstName],
        ...(email !== null && { mail: [email] }),
        ...(provider === 1 && { [pairwise]: [subject] }),
      },
    };
  }

  const idToken = (connection: Of, { subject, email, isVerified, firstName }: Said, nonce: string | null) => {
    const iat = Math.floor(api.clock.now.getTime() / 1000);
    return oidc[connection.provider].idToken({
      ...{ sub: subject, nonce, iat, exp: iat + 300, given_name: firstName },
      ...(email !== null && { email }),
      ...(isVerified !== null && { email_verified: isVerified }),
    });
  };

  return {
    saml,
    oidc,

    /** The settings by which a connection names its provider. */
    settingsOf: ({ type, provider }: Pick<Connection, 'type' | 'provider'>) =>
      type === 'saml'
        ? {
            saml_entity_id: saml[provider].issuer,
            saml_sso_url: saml[provider].fields.samlSsoUrl,
            saml_signing_cert: saml[provider].key.certificate,
          }
        : {
            oidc_discovery_url: oidc[provider].issuer,
            oidc_client_id: 'client',
            oidc_client_secret: 'a secret',
          },

    /** Brings the answer of a connection's provider to a request. @param away where the request has sent the browser */
    async bring(browser: Browser, connection: Of, away: string, said: Said): Promise<LightMyRequestResponse> {
      if (connection.type === 'saml') {
        const { path, form } = answerTo(away, saml[connection.provider], api.clock.now, partsFor(connection, said));
        return browser.post(path, form, origin);
      }
      const asked = new URL(away).searchParams;
      const { issuer, answers } = oidc[connection.provider];
      answers(() => idToken(connection, said, asked.get('nonce')));
      const query = new URLSearchParams({ code: 'code', state: asked.get('state') ?? '', iss: issuer });
      return browser.get(`${new URL(asked.get('redirect_uri') ?? '').pathname}?${query}`);
    },

    /** Brings a SAML answer that nobody asked for. @param relayState the client to sign in to */
    bringUnasked(browser: Browser, connection: Of, relayState: string, said: Said): Promise<LightMyRequestResponse> {
      const { issuer, key } = saml[connection.provider];
      const path = `/sso/saml/${connection.id}`;
      const [acsUrl, audience] = [`${baseUrl}${path}/acs`, `${baseUrl}${path}/metadata`];
      const basics = { issuer, acsUrl, audience, inResponseTo: null, now: api.clock.now };
      const response = signedResponse(partsOf(basics, partsFor(connection, said)), key);
      return browser.post(`${path}/acs`, { SAMLResponse: posted(response), RelayState: relayState }, origin);
    },

    stop: () => Promise.all(oidc.map((one) => one.stop())),
  };
}

export type Providers = Awaited<ReturnType<typeof startProviders>>;
