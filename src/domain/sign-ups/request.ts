import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { type Clock, hours } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Db } from '../../platform/database/db.js';
import { inSavepoint } from '../../platform/database/scoped-runner.js';
import { createLimiter } from '../../platform/limiter.js';
import { type EnvironmentScope, environmentScopeOf } from '../../platform/scope.js';
import { countedAddress } from '../addresses/counted-address.js';
import { queueEmail } from '../emails/queue.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';
import { countUse } from '../limits/rate-limits.js';
import type { Client } from '../oidc/clients/clients.js';
import { insertIdentityLink, type LinkClient } from '../one-time/identity-links.js';
import { environmentRule } from '../passwords/context-rows.js';
import type { Passwords } from '../passwords/passwords.js';
import { countSignUp, createIdentity, recordCapped } from './sign-up.js';

export interface SignUpRequest {
  client: LinkClient & { settings: Pick<Client['settings'], 'dailySelfSignupCap'> };
  email: string;
  password: string;
  firstName: string | null;
  lastName: string | null;
  locale: 'en' | 'de';
  /** Parameters of the authorization request that continues afterwards; empty in the API. */
  parameters: Record<string, string>;
}

/**
 * Accepts a sign-up. Response and work are the same for every address: only the mail says more.
 * @returns the value of the cookie with which this browser confirms by one click
 * @throws DomainError validation.failed, password.breached, password.context_specific (before the address is looked
 * up), rate_limit.exceeded (counted by address, known or not), sign_up.daily_cap_reached
 */
export type RequestSignUp = (request: SignUpRequest) => Promise<{ browser: string }>;

interface Known {
  id: string;
  isVerified: boolean;
  isMember: boolean;
}

export interface RequestSignUpDeps {
  db: Db;
  sealing: Pick<Sealing, 'derive'>;
  passwords: Pick<Passwords, 'hash' | 'assertAcceptable'>;
  rateLimits: boolean;
  now: Clock;
}

/** The limit of mails to one address of an Environment, known or not: each sign-up sends one. */
const perAddress = { name: 'sign-up-address', points: 5, windowSeconds: hours(1) / 1000 };

export function createRequestSignUp({ db, sealing, passwords, rateLimits, now }: RequestSignUpDeps): RequestSignUp {
  const limiter = rateLimits ? createLimiter(db, perAddress) : null;

  return async ({ password, ...request }) => {
    const { client } = request;
    const scope = environmentScopeOf(client);
    const { minLength, context } = await db.transaction(scope, (tx) => environmentRule(tx, scope));
    const own = [request.email, request.firstName, request.lastName];
    await passwords.assertAcceptable(password, { minLength, context: [...context, ...own], field: 'password' });
    await countUse(limiter, `${client.environmentId} ${countedAddress(request.email)}`);
    const passwordHash = await passwords.hash(password);
    const browser = newSecret();
    const parked = { passwordHash, browserHash: hashSecret(browser) };
    const once = () => db.transaction(scope, (tx) => take(tx, scope, { ...request, ...parked }));
    // Another request has just signed up with the same address, which is known by now.
    const again = (error: unknown) => {
      if (error instanceof DomainError && error.code === 'identity.email_taken') return once();
      throw error;
    };
    await once()
      .catch(again)
      .catch((error: unknown) => refused(scope, error));
    return { browser };
  };

  async function take(
    tx: EntityManager,
    scope: EnvironmentScope,
    request: Omit<SignUpRequest, 'password'> & { passwordHash: string; browserHash: Buffer },
  ): Promise<void> {
    const { client, email, firstName, lastName, locale, parameters, passwordHash, browserHash } = request;
    const at = now();
    // Known addresses count too: otherwise the day's last free place would tell whether an address is known.
    await countSignUp(tx, scope, { cap: client.settings.dailySelfSignupCap, now: at });
    const known = await find(tx, scope, email);
    // The link keeps what was typed: if the address is confirmed in another way, none of it becomes the owner's.
    const nothing = { passwordHash: null, firstName: null, lastName: null };
    const person = { email, verified: false, ...nothing, now: at };
    const identityId = await createUnlessKnown(tx, scope, known, person);
    const about = { identityId, locale, parameters, now: at };
    const mail = mailFor(known);
    const linkId = await insertIdentityLink(tx, sealing, client, {
      ...about,
      purpose: mail === 'sign-up-known-address' ? 'known_address' : 'verify_email',
      joins: known?.isMember === false,
      // The owner of a proved address can sign in already, so what was typed here is dropped.
      ...(known?.isVerified ? {} : { passwordHash, browserHash, firstName, lastName }),
    });
    const { accountId, environmentId } = scope;
    const cause = `identity-link/${linkId}`;
    await queueEmail(tx, { template: mail, locale, subjectId: linkId, cause, accountId, environmentId }, at);
    await recordEvent(tx, 'auth.sign_up_requested', { ...scope, resourceId: linkId });
  }

  async function refused(scope: EnvironmentScope, error: unknown): Promise<never> {
    if (error instanceof DomainError && error.code === 'sign_up.daily_cap_reached') await recordCapped(db, scope);
    throw error;
  }
}

/**
 * For a known address it creates an Identity and rolls that back, so that the cost is the same.
 * @returns the Identity's id
 */
async function createUnlessKnown(
  tx: EntityManager,
  scope: EnvironmentScope,
  known: Known | null,
  person: Parameters<typeof createIdentity>[2],
): Promise<string> {
  const made = known ? { ...person, email: `${uuidv7()}@known.invalid` } : person;
  const madeId = await inSavepoint(tx, { keep: known === null }, () => createIdentity(tx, scope, made));
  return known?.id ?? madeId;
}

/** Returns the template of the mail to the address. */
function mailFor(known: Known | null) {
  if (!known?.isVerified) return 'verify-email';
  return known.isMember ? 'sign-up-known-address' : 'sign-up-join';
}

/** Uses a function, since row-level security keeps PostgreSQL from using the index on addresses. */
async function find(
  tx: EntityManager,
  { accountId, environmentId }: EnvironmentScope,
  email: string,
): Promise<Known | null> {
  const [known] = await tx.query<Known[]>(
    `select id, email_verified_at is not null as "isVerified",
       exists (select from environment_memberships where environment_id = $2 and identity_id = identities.id) as "isMember"
     from identities where account_id = $1 and id = (select gatehouse_identity_id($1, $3::citext))`,
    [accountId, environmentId, email],
  );
  return known ?? null;
}
