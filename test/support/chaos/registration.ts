import { randomUUID } from 'node:crypto';
import { rowsAsOwner } from '../database.js';
import { linkIn, type ReceivedMail, waitForMail } from '../inbox.js';
import type { Service } from '../service.js';

export interface Registered {
  email: string;
  password: string;
}

const json = { 'content-type': 'application/json' };

/** Registers a new person, as the form of an administrators' app does. */
export async function register(service: Service): Promise<Registered> {
  const email = `ana.${randomUUID()}@example.com`;
  const password = `long enough ${randomUUID()}`;
  const answer = await fetch(`${service.baseUrl}/v1/auth/register`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({
      email,
      password,
      first_name: 'Ana',
      last_name: 'Kovač',
      account_name: `Northwind ${randomUUID().slice(0, 8)}`,
      application_name: 'Shop',
    }),
  });
  if (answer.status !== 201) throw new Error(`register: ${answer.status} ${await answer.text()}`);
  return { email, password };
}

export const verificationMail = ({ inboxUrl }: Service, { email }: Registered): Promise<ReceivedMail> =>
  waitForMail(inboxUrl, email, /(?:)/);

/** Confirms on the page that the mail's link opens, as a program without cookies that asks for JSON. */
export function confirm(service: Service, { password }: Registered, mail: ReceivedMail): Promise<Response> {
  const token = new URL(linkIn(mail)).searchParams.get('token');
  return fetch(`${service.baseUrl}/v1/auth/verify-email`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ token, password }),
  });
}

/** Signs the confirmed person in with the password of the registration. */
export async function signIn(service: Service, { email, password }: Registered): Promise<Response> {
  return fetch(`${service.baseUrl}/v1/auth/login`, {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email, password }),
  });
}

/** Returns how many rows of each kind a registration created for its address; one each after a confirmation. */
export async function madeFor({ ownerUrl }: Service, { email }: Registered) {
  const [counts] = await rowsAsOwner(
    ownerUrl,
    `select
       (select count(*)::int from users where email = $1) as users,
       (select count(*)::int from memberships join users on users.id = user_id where email = $1) as memberships,
       (select count(distinct account_id)::int from memberships join users on users.id = user_id where email = $1) as accounts,
       (select count(*)::int from environments join memberships using (account_id) join users on users.id = user_id
        where email = $1) as environments`,
    [email],
  );
  return counts;
}

export const nothing = { users: 0, memberships: 0, accounts: 0, environments: 0 };
export const one = { users: 1, memberships: 1, accounts: 1, environments: 2 };

/** Returns the status of an open registration's verification mail, from its row. */
export async function mailStatus({ ownerUrl }: Service, { email }: Registered): Promise<string | undefined> {
  const [row] = await rowsAsOwner(
    ownerUrl,
    `select e.status from emails e join pending_registrations p on p.id = e.subject_id
     where p.email = $1 and e.template = 'registration-verification'`,
    [email],
  );
  return row?.status as string | undefined;
}
