import type { EntityManager } from 'typeorm';
import type { FactorKind } from '../../../entities/environment-settings.js';
import type { MfaFactorType } from '../../../entities/mfa-factor.js';
import type { Db } from '../../platform/database/db.js';
import { productionEnvironments } from '../access/assignments/production-people.js';
import { firstFactorOf } from '../first-factor-of.js';
import type { FirstFactor } from '../sessions/first-factor.js';

/** Factors that a person enrolls; recovery codes come with the first of them. */
export type EnrollableKind = MfaFactorType;

/** The second factors that a person has, and those that the Environment accepts. */
export interface MfaState {
  allowed: FactorKind[];
  enrolled: EnrollableKind[] | null;
  /** Whether any are left. Without a factor they are not accepted (`choicesAfter`). */
  hasRecoveryCodes: boolean;
  isVerified: boolean;
  /** Whether this is a test Environment and the person is in a production one as well. */
  isTestOfProduction: boolean;
}

export interface MfaSubject {
  accountId: string;
  environmentId: string;
  identityId: string;
}

/** SQL: an Identity's `MfaState` in an Environment; no row if it is gone. Found by its key (docs/decisions/0025). */
export const mfaStateSql = (account: string, environment: string, identity: string): string => `
select (select mfa_allowed_factors from environment_settings where environment_id = ${environment} and account_id = ${account}) as allowed,
  (select array_agg(distinct type) from mfa_factors where identity_id = i.id) as enrolled,
  exists (select from recovery_codes c where c.identity_id = i.id and c.generation = i.recovery_codes_generation
    and c.used_at is null) as "hasRecoveryCodes",
  i.email_verified_at is not null as "isVerified",
  exists (${productionEnvironments({ environment, identity })}) as "isTestOfProduction"
from identities i where (i.account_id = ${account}) is true and i.id = ${identity}`;

const mfaStateStatement = { name: 'second_factors_of_identity_in_place', text: mfaStateSql('$1', '$3', '$2') };
const valuesOf = ({ accountId, environmentId, identityId }: MfaSubject) => [accountId, identityId, environmentId];
export const noMfaState: MfaState = {
  allowed: [],
  enrolled: null,
  hasRecoveryCodes: false,
  isVerified: false,
  isTestOfProduction: false,
};

/** Returns the second factors of a person, and what is accepted; `noMfaState` for an Identity that is gone. */
export const mfaStateOf = async (db: Pick<Db, 'statement'>, of: MfaSubject): Promise<MfaState> =>
  (await db.statement<MfaState>(mfaStateStatement, valuesOf(of)))[0] ?? noMfaState;

/** Returns the `MfaState` of a person whom it locks: nobody adds or removes a factor until the transaction ends. */
export async function lockMfaState(tx: EntityManager, of: MfaSubject): Promise<MfaState> {
  await tx.query('select from identities where account_id = $1 and id = $2 for update', [of.accountId, of.identityId]);
  return (await tx.query<MfaState[]>(mfaStateStatement.text, valuesOf(of)))[0] ?? noMfaState;
}

/** Whether a factor enrolled now comes with recovery codes: the first one does, if the Environment accepts them. */
export const bringsRecoveryCodes = ({ allowed, enrolled }: Pick<MfaState, 'allowed' | 'enrolled'>): boolean =>
  enrolled === null && allowed.includes('recovery_code');

export interface Choices {
  /** Kinds whose enrollment would be enough for this sign-in. */
  enrollable: EnrollableKind[];
  /** Factors of the person that are enough for it; empty when none is. */
  usable: FactorKind[];
  /**
   * If none is enough: factors that the person can prove all the same, and has to before adding one. Otherwise somebody
   * with a stolen password could add a factor of their own to those that a sign-in does not accept.
   */
  provable: FactorKind[];
}

type Asked = Pick<FirstFactor, 'method' | 'amr' | 'ssoConnectionId'> & { requiresAal2: boolean };

/**
 * Whether the first factor was an emailed code. A session tells by its `amr`, unless it began at an identity provider,
 * whose `otp` is no code of ours.
 */
export const cameByMail = ({
  method,
  amr,
  ssoConnectionId = null,
}: Pick<FirstFactor, 'method' | 'amr' | 'ssoConnectionId'>) =>
  method === 'email_otp' || (method === 'session' && ssoConnectionId === null && firstFactorOf(amr) === 'email_otp');

/**
 * An emailed code to an unconfirmed address is only offered where there is no other factor: no later sign-in asks for
 * it.
 */
function preferred(kinds: EnrollableKind[], isVerified: boolean): EnrollableKind[] {
  const lasting = kinds.filter((kind) => kind !== 'email_otp' || isVerified);
  return lasting.length > 0 ? lasting : kinds;
}

/** What can follow a first factor (contract §3). */
export function choicesAfter({ requiresAal2, ...first }: Asked, state: MfaState): Choices {
  const { allowed, enrolled, isVerified } = state;
  // A recovery code replaces a factor: codes that were left over do not stop a person without one.
  const hasRecoveryCodes = enrolled !== null && state.hasRecoveryCodes;
  // An emailed code adds nothing to a sign-in by mail, nor a security key to a sign-in by passkey.
  const byMail = cameByMail(first);
  const adds = (kind: EnrollableKind) =>
    !(kind === 'email_otp' && byMail) && !(kind === 'webauthn' && first.method === 'passkey');
  const kinds = (['totp', 'webauthn', 'email_otp'] as const).filter(adds);
  const has = (kind: EnrollableKind) => enrolled?.includes(kind) === true && (kind !== 'email_otp' || isVerified);

  // An emailed code never makes aal2.
  const taken = kinds.filter((kind) => allowed.includes(kind) && !(kind === 'email_otp' && requiresAal2));
  // A factor belongs to the Account, and a test Environment's identity provider has no say over people in production
  // (docs/decisions/0077).
  const enrollable = state.isTestOfProduction && first.ssoConnectionId ? [] : preferred(taken, isVerified);
  const enough = taken.filter(has);
  if (enough.length === 0) {
    const others: FactorKind[] = kinds.filter(has);
    return { enrollable, usable: [], provable: hasRecoveryCodes ? [...others, 'recovery_code'] : others };
  }
  const usable: FactorKind[] = [...enough];
  if (taken.includes('email_otp') && isVerified && !enough.includes('email_otp')) usable.push('email_otp');
  if (allowed.includes('recovery_code') && hasRecoveryCodes) usable.push('recovery_code');
  return { enrollable, usable, provable: [] };
}
