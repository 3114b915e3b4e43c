import type { BrowserContextOptions, Page } from 'playwright-core';
import { headingOf, launchChromium, newVisitor, type Visitor } from './chromium.js';
import { asOwner } from './database.js';
import { type Person, type Seed, seed } from './seed.js';
import { type Service, startService } from './service.js';
import { startRelyingParty } from './service-processes.js';

export interface StartSite {
  /** Settings of the service's processes. */
  env?: Record<string, string>;
  /** Settings of the Environment, as SQL: `mfa_policy = 'required'`. */
  settings?: string;
}

export interface Site {
  service: Service;
  data: Seed;
  /** The example application, a client of the development Environment. */
  shop: { url: string };
  /** Opens a page in a new browser profile. */
  arrive(options?: BrowserContextOptions): Promise<Page>;
  /**
   * Closes all profiles.
   * @returns what Chromium complained of: violations of a page's security policy, script errors
   */
  leave(): Promise<string[]>;
  /** Changes settings of the Environment; the service's processes cache the previous ones for a second. */
  configure(settings: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the service as people meet it: with the demo's people, an application that they sign in to, and Chromium. */
export async function startSite({ env = {}, settings }: StartSite = {}): Promise<Site> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const stopOne of stops.splice(0)) await stopOne(); // Chromium first, so that its connections delay nothing
  };
  try {
    const browser = await launchChromium();
    stops.push(() => browser.close());
    const service = await startService({ env });
    stops.push(service.stop);
    const data = await seed(service.databaseUrl);
    const configure = async (set: string) => {
      const { environmentId } = data.scope;
      const statement = `update environment_settings set ${set} where environment_id = $1`;
      await asOwner((db) => db.query(statement, [environmentId]), service.ownerUrl);
    };
    if (settings) await configure(settings); // before any visitor, or the processes would have cached other settings
    const shop = await startRelyingParty({ ISSUER: service.baseUrl, CLIENT_ID: data.publicClient });
    stops.push(shop.stop);
    let visitors: Visitor[] = [];
    return {
      service,
      data,
      shop,
      configure,
      stop,
      async arrive(options) {
        const visitor = await newVisitor(browser, options);
        visitors.push(visitor);
        return visitor.page;
      },
      async leave() {
        const gone = visitors;
        visitors = [];
        const complaints = gone.flatMap((visitor) => visitor.complaints);
        await Promise.all(gone.map((visitor) => visitor.close()));
        return complaints;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Opens an application signed out, and requests a sign-in. */
export async function startAt(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await headingOf(page, 'You are signed out').waitFor();
  await page.getByRole('link', { name: 'Sign in' }).click();
}

/** Fills in and submits the English sign-in page. */
export async function fillIn(page: Page, { email, password }: Person): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

export const idToken = 'Claims of the ID token';

/** Returns what the application shows of a claim. */
export const claimIn = (page: Page, table: string, name: string) =>
  page
    .getByRole('table', { name: table })
    .getByRole('row')
    .filter({ has: page.getByRole('rowheader', { name, exact: true }) })
    .getByRole('cell');

/** Returns an authorization request of the public client, as an application links to it. */
export const authorizeUrl = ({ service, data, shop }: Site, more: Record<string, string> = {}): string =>
  `${service.baseUrl}/oauth/authorize?${new URLSearchParams({
    client_id: data.publicClient,
    redirect_uri: `${shop.url}/callback`,
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', // RFC 7636, appendix B
    code_challenge_method: 'S256',
    ...more,
  })}`;
