import type { EntityManager } from 'typeorm';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { SsoTest } from '../../../entities/sso-test.js';
import { after, minutes } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import type { Assertion, SsoRefusal } from '../sso-protocols/assertion.js';
import { isAdministrator, openInvite, recognizeAdministrator, strangerRefusal } from './administrator-recognition.js';
import { assertedAddress } from './asserted-address.js';
import { requestLife } from './lifetimes.js';
import type { SsoOutcome } from './outcome.js';
import { type AssertedProfile, newProfile } from './profile.js';
import { isRecentEnough, noDemands } from './recency.js';
import { type PersonRefusal, recognize } from './recognition.js';

/** How long a test's link works. */
export const testLinkLife = minutes(10);

/** `refused`: the response was not accepted. An accepted one need not sign anybody in. */
export const ssoTestStatuses = ['pending', 'succeeded', 'refused', 'expired'] as const;
export type SsoTestStatus = (typeof ssoTestStatuses)[number];
/** What the response would do if the connection were active and this were not a test. */
export const ssoTestEffects = ['sign_in_linked', 'link', 'create', 'refuse'] as const;
export type SsoTestEffect = (typeof ssoTestEffects)[number];

interface Would {
  effect: SsoTestEffect;
  code: SsoRefusal | PersonRefusal | null;
}

/** The result of a test sign-in, for the people who manage the connection. */
export interface SsoTestReport {
  id: string;
  status: SsoTestStatus;
  startedAt: Date | null;
  finishedAt: Date | null;
  refusal: { code: SsoRefusal; message: string } | null;
  assertion: Assertion | null;
  /** The fields of a person that the answer fills. */
  mapped: ({ email: string | null } & AssertedProfile) | null;
  would: Would | null;
}

/** @param outcome null as long as there is no answer */
export async function reportOf(
  db: Db,
  { test, connection, outcome }: { test: SsoTest; connection: SsoConnection; outcome: SsoOutcome | null },
  now: Date,
): Promise<SsoTestReport> {
  const { id, startedAt, finishedAt } = test;
  const times = { id, startedAt, finishedAt };
  const nothing = { refusal: null, assertion: null, mapped: null, would: null };
  if (!outcome) return { ...times, ...nothing, status: isOver(test, now) ? 'expired' : 'pending' };
  if ('refusal' in outcome) {
    const { code, message } = outcome.refusal;
    return { ...times, ...nothing, status: 'refused', refusal: { code, message }, would: { effect: 'refuse', code } };
  }
  const { assertion } = outcome;
  const mapped = { email: assertedAddress(assertion.email), ...newProfile(assertion, connection) };
  const begun = { createdAt: startedAt ?? test.createdAt };
  const would = isRecentEnough(assertion, noDemands, connection, begun)
    ? await effectOf(db, connection, assertion, now)
    : refused('reauthentication_missing');
  return { ...times, status: 'succeeded', refusal: null, assertion, mapped, would };
}

/** Whether nobody has used the link in time, or its user has not come back. */
const isOver = ({ createdAt, startedAt }: SsoTest, now: Date): boolean =>
  (startedAt ? after(startedAt, requestLife) : after(createdAt, testLinkLife)) <= now;

/** Computed for the present: repairs made meanwhile, such as the verification of a domain, show. */
function effectOf(db: Db, connection: SsoConnection, assertion: Assertion, now: Date): Promise<Would> {
  const { accountId, environmentId } = connection;
  if (environmentId === null)
    return db.transaction('system', (tx) => effectOnAdministrator(tx, connection, assertion, now));
  return db.transaction({ accountId }, async (tx) => {
    const recognized = await recognize(tx, { ...connection, environmentId }, assertion);
    return recognized.refusal === null ? admitted(recognized.by) : refused(recognized.refusal);
  });
}

async function effectOnAdministrator(
  tx: EntityManager,
  connection: SsoConnection,
  assertion: Assertion,
  now: Date,
): Promise<Would> {
  const recognized = await recognizeAdministrator(tx, connection, assertion);
  if (recognized.refusal !== null) return refused(recognized.refusal);
  const { by, user, email } = recognized;
  const { accountId, jitProvisioningEnabled } = connection;
  const isExpected =
    (await isAdministrator(tx, accountId, user)) || (await openInvite(tx, { accountId, email }, now)) !== null;
  return isExpected || jitProvisioningEnabled ? admitted(by) : refused(strangerRefusal(user));
}

const refused = (code: PersonRefusal): Would => ({ effect: 'refuse', code });
const admitted = (by: 'subject' | 'address' | 'new'): Would => ({
  effect: ({ subject: 'sign_in_linked', address: 'link', new: 'create' } as const)[by],
  code: null,
});
