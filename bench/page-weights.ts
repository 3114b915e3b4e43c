import { gzipSync } from 'node:zlib';
import { type Answer, connect, expectContent, expectStatus } from './connection.js';
import type { Seed } from './seed.js';
import { fieldsOf, openSignIn } from './workloads/sign-in.js';

export interface PageWeight {
  name: string;
  bytes: number;
  /** Its size after a proxy's gzip. Styles and scripts are inside the page, so nothing else is fetched. */
  compressed: number;
}

/** Measures the pages of a sign-in and of a person's account: the sign-in page, then the others by descending size. */
export async function measurePages(origin: string, seed: Seed): Promise<PageWeight[]> {
  const connection = connect(origin);
  try {
    const { publicClient: client, emails, password } = seed;
    const email = emails[0] as string;
    const { page: signInPage } = await openSignIn(connection, client, seed);
    const fields = { ...fieldsOf(signInPage, '/oauth/authorize'), email };
    const codeSent = await connection.post('/oauth/login/email-otp/start', fields);
    const signedIn = expectStatus(await connection.post('/oauth/authorize', { ...fields, password }), 303);
    const cookies = { cookie: cookiesOf(signedIn) };
    const account = (path: string) => connection.get(`/oauth/account${path}?client_id=${client.id}`, cookies);
    const others = [
      weightOf('code-sent', codeSent),
      weightOf('account', await account('')),
      weightOf('account-totp', await account('/factors/totp')),
      weightOf('account-webauthn', await account('/factors/webauthn')),
    ];
    others.sort((a, b) => b.compressed - a.compressed);
    return [weightOf('sign-in', { status: 200, headers: {}, text: signInPage }), ...others];
  } finally {
    await connection.close();
  }
}

const cookiesOf = ({ headers }: Answer) =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map((cookie) => cookie.split(';')[0])
    .join('; ');

function weightOf(name: string, answer: Answer): PageWeight {
  const { text } = expectStatus(answer, 200);
  expectContent(text.includes('</html>'), 'a whole page');
  return { name, bytes: Buffer.byteLength(text), compressed: gzipSync(text).length };
}
