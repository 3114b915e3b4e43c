import { expectContent, expectStatus } from '../connection.js';
import { createProvider, requestIn } from '../saml/response.js';
import { newRequest, redeem } from './sign-in.js';
import type { Workload } from './workload.js';

export const samlWorkloads: Workload[] = [
  {
    name: 'saml-login',
    about:
      'SAML 2.0: to the provider, its signed answer, on from it, tokens: four requests; the load signs the assertion, which is verified',
    limit: 'signatures',
    uses: 3, // the request to the provider, access and ID token
    async prepare({ index, connection, seed }) {
      const { publicClient: client, saml, emails, redirectUri } = seed;
      const answerOf = createProvider(saml);
      let next = index;
      return async () => {
        const { query, verifier } = newRequest(client, redirectUri);
        query.set('connection_id', saml.connectionId);
        const away = expectStatus(await connection.get(`/oauth/sso?${query}`), 303);
        const request = requestIn(String(away.headers.location));
        expectContent(request.id && request.relayState, 'a request to the provider');
        const cookie = cookieOf(away.headers['set-cookie']);
        const answer = answerOf(request, emails[next % emails.length] as string);
        next += 17; // so that workers do not use the same people one after the other
        const answered = expectStatus(await connection.post(new URL(request.acsUrl).pathname, answer), 303);
        const onward = new URL(String(answered.headers.location), request.acsUrl);
        const signedIn = await connection.get(`${onward.pathname}${onward.search}`, { cookie });
        await redeem(connection, client, seed, signedIn, verifier);
      };
    },
  },
];

/** Returns the cookie that proves that the browser is the one that was redirected. */
function cookieOf(header: string | string[] | undefined): string {
  const set = [header ?? []].flat().find((one) => one.startsWith('sso='));
  expectContent(set, 'the cookie of the browser');
  return set.split(';')[0] as string;
}
