import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import type { Browser } from 'playwright-core';
import { barriers, launchChromium, newVisitor, type Visitor } from '../support/chromium.js';
import { linkIn, mailsTo, waitForMail } from '../support/inbox.js';
import { patience } from '../support/patience.js';
import { type Service, startService } from '../support/service.js';
import { startRelyingParty } from '../support/service-processes.js';
import { historyText } from '../support/temporal.js';

let service: Service;
let browser: Browser;
let visitor: Visitor;
let connection: Connection;
beforeAll(async () => {
  browser = await launchChromium();
  service = await startService();
  visitor = await newVisitor(browser);
  connection = await Connection.connect({ address: service.temporalAddress });
});
afterAll(async () => {
  await browser?.close();
  await connection?.close();
  await service?.stop();
});

const olga = {
  email: 'Olga.Ostrova@example.com',
  password: randomBytes(12).toString('base64url'),
  first_name: 'Olga',
  last_name: 'Ostrova',
  account_name: 'Quarry & Sons',
  application_name: 'Stonecutter',
};

/** The parts of answers that the test reads. */
interface Answered {
  access_token: string;
  client_id: string;
  roles: object[];
  capabilities: string[];
}

async function call(method: string, path: string, body?: object, token?: string) {
  const response = await fetch(`${service.baseUrl}${path}`, {
    method,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...(token && { authorization: `Bearer ${token}` }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const { data } = (await response.json()) as { data: Answered };
  return { status: response.status, data };
}

let link: string;
let token: string;
const portal = '/portal/v1/accounts/quarry-sons';
const development = `${portal}/applications/stonecutter/environments/development`;

describe('from an empty installation to a verified token', () => {
  test('a registration is answered with a message, and mails a link', async () => {
    const { status, data } = await call('POST', '/v1/auth/register', olga);
    expect(status).toBe(201);
    expect(data).toEqual({ message: expect.any(String) });
    const mail = await waitForMail(service.inboxUrl, olga.email, /Confirm your email address/);
    // In a form that mail programs do not turn into a link: the typed name may not be the mailbox's owner's.
    expect(mail.text).toContain('Hello Olga.\u2060Ostrova,');
    link = linkIn(mail);
    expect(link.startsWith(`${service.baseUrl}/v1/auth/verify-email?token=`)).toBe(true);
    const workflows = await registrations();
    expect(workflows.map(({ status: { name } }) => name)).toEqual(['RUNNING']); // it waits for the confirmation
  });

  test('opening the link changes nothing; its button creates the account and signs in its owner', async () => {
    const { page } = visitor;
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'Confirm your email address' }).waitFor();
    await page.getByText('Quarry & Sons', { exact: true }).waitFor();
    expect(await barriers(page)).toEqual([]);
    expect((await signIn()).status).toBe(401);
    expect(await page.context().cookies()).toEqual([]);

    // Another browser than the one that registered.
    await page.getByLabel('Password from your registration').fill('something else');
    await page.getByRole('button', { name: 'Confirm and create account' }).click();
    await page.getByRole('alert').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByLabel('Password from your registration').fill(olga.password);
    await page.getByRole('button', { name: 'Confirm and create account' }).click();
    await page.getByRole('heading', { level: 1, name: 'Your account is ready' }).waitFor();
    await page.getByText('quarry-sons', { exact: true }).waitFor();
    expect(await barriers(page)).toEqual([]);

    const cookies = await page.context().cookies();
    const cookie = (name: string) => cookies.find((one) => one.name === name);
    expect(cookie('admin_refresh')).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
    expect(cookie('admin_session')).toMatchObject({ httpOnly: false, sameSite: 'Lax', value: '1' });
    const days = (cookie('admin_refresh')!.expires - Date.now() / 1000) / 86_400;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThanOrEqual(30);
  });

  test('the link works once', async () => {
    const { page } = visitor;
    await page.goto(link);
    await page.getByRole('heading', { level: 1, name: 'This link no longer works' }).waitFor();
    expect(await barriers(page)).toEqual([]);
  });

  test('the owner signs in and may do everything in the account', async () => {
    const { status, data } = await signIn();
    expect(status).toBe(200);
    expect(data).toMatchObject({
      outcome: 'authenticated',
      token_type: 'Bearer',
      user: { email: olga.email, first_name: 'Olga', last_name: 'Ostrova' },
      account: { name: 'Quarry & Sons', slug: 'quarry-sons' },
      application: { name: 'Stonecutter', slug: 'stonecutter' },
    });
    token = data.access_token;
    const me = await call('GET', `${portal}/me`, undefined, token);
    expect(me.status).toBe(200);
    expect(me.data.roles).toMatchObject([{ name: 'Owner' }]);
    expect(me.data.capabilities).toEqual(expect.arrayContaining(['oauth_clients.manage', 'applications.view']));
  });

  test('the last viewed environment is kept', async () => {
    const path = `${portal}/applications/stonecutter/me/state`;
    for (const environment_slug of ['production', 'development']) {
      const { status, data } = await call('PUT', path, { environment_slug }, token);
      expect({ status, data }).toEqual({ status: 200, data: { environment_slug } });
    }
    expect((await call('PUT', path, { environment_slug: 'staging' }, token)).status).toBe(400);
  });

  test('an identity of the new environment signs in to its client', async () => {
    const client = await call(
      'POST',
      `${development}/oauth-clients`,
      {
        name: 'Stone shop',
        client_type: 'public',
        redirect_uris: ['http://127.0.0.1:3001/callback'],
        post_logout_redirect_uris: ['http://127.0.0.1:3001/'],
      },
      token,
    );
    expect(client).toMatchObject({ status: 201, data: { client_type: 'public', client_secret: null } });
    const person = { email: 'pavel@example.com', password: randomBytes(12).toString('base64url') };
    const profile = { first_name: 'Pavel', last_name: 'Petrov', email_verified: true };
    const identity = await call('POST', `${development}/identities`, { ...person, ...profile }, token);
    expect(identity.status).toBe(201);

    const shop = await startRelyingParty({ ISSUER: service.baseUrl, CLIENT_ID: client.data.client_id });
    const { page } = visitor;
    await page.goto(shop.url);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in to Stone shop' }).waitFor();
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password', { exact: true }).fill(person.password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Hello, Pavel Petrov' }).waitFor();
    await shop.stop();
  });

  test('the process is visible in Temporal, and its history contains only ids and times', async () => {
    const [registration] = await registrations('COMPLETED');
    expect(registration!.workflowId).toMatch(/^registration\/[0-9a-f-]{36}$/);
    expect(registration!.searchAttributes?.GatehouseState).toEqual(['confirmed']);

    const secret = new URL(link).searchParams.get('token') as string;
    const client = new Client({ connection });
    let histories = 0;
    for await (const { workflowId } of client.workflow.list()) {
      const text = (await historyText(client.workflow.getHandle(workflowId))).toLowerCase();
      if (workflowId.includes('/')) expect(text).toContain(workflowId.split('/').at(-1)); // a process, and not a schedule
      const told = [...Object.values(olga), 'quarry-sons', 'stonecutter', 'pavel', secret, token].filter((private_) =>
        text.includes(private_.toLowerCase()),
      );
      expect([workflowId, told]).toEqual([workflowId, []]);
      histories++;
    }
    expect(histories).toBeGreaterThanOrEqual(2); // the registration and its mail
    expect(await mailsTo(service.inboxUrl, olga.email)).toHaveLength(1);
  });

  test('in the browser that registered one click is enough; a person who did not register can say so', async () => {
    const own = await newVisitor(browser);
    const other = await newVisitor(browser);
    try {
      const links = [];
      for (const [n, { page }] of [own, other].entries()) {
        const person = { ...olga, email: `pia-${n}@example.com`, account_name: `Quarry ${n}` };
        const registered = await page.request.post(`${service.baseUrl}/v1/auth/register`, { data: person });
        expect(registered.status()).toBe(201);
        links.push(linkIn(await waitForMail(service.inboxUrl, person.email, /Confirm your email address/)));
      }
      await own.page.goto(links[0] as string);
      await own.page.getByRole('button', { name: 'Confirm and create account' }).click();
      await own.page.getByRole('heading', { level: 1, name: 'Your account is ready' }).waitFor();

      await own.page.goto(links[1] as string);
      await own.page.getByLabel('Password from your registration').waitFor();
      await own.page.getByRole('button', { name: 'It was not me' }).click();
      await own.page.getByRole('heading', { level: 1, name: 'Registration discarded' }).waitFor();
      expect(await barriers(own.page)).toEqual([]);
      await other.page.goto(links[1] as string);
      await other.page.getByRole('heading', { level: 1, name: 'This link no longer works' }).waitFor();
      expect([...own.complaints, ...other.complaints]).toEqual([]);
    } finally {
      await Promise.all([own, other].map((one) => one.close()));
    }
  });

  test('no page violated its own security policy, and no process logged an error', async () => {
    expect(visitor.complaints).toEqual([]);
    expect([...service.api.lines, ...service.worker.lines]).toEqual([]);
  });
});

const signIn = () => call('POST', '/v1/auth/login', { email: olga.email, password: olga.password });

/** Returns Temporal's list of the registrations, once it shows the expected state: the list lags behind. */
async function registrations(awaited?: WorkflowExecutionInfo['status']['name']): Promise<WorkflowExecutionInfo[]> {
  const client = new Client({ connection });
  for (let found: WorkflowExecutionInfo[] = [], waited = 0; ; waited += 100) {
    found = [];
    for await (const one of client.workflow.list({ query: `WorkflowType = 'registrationVerification'` }))
      found.push(one);
    const there = found.length > 0 && (!awaited || found.every(({ status: { name } }) => name === awaited));
    if (there || waited > patience) return found;
    await sleep(100);
  }
}
