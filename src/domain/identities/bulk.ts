import type { EntityManager } from 'typeorm';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { Clock } from '../../platform/clock.js';
import { assertStillMay } from '../../platform/context.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import { type Db, within } from '../../platform/database/db.js';
import { retryingDeadlocks } from '../../platform/database/retry-deadlocks.js';
import { isStorable } from '../../platform/database/storable.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { PlacedAssignment } from '../access/assignments/assigning.js';
import type { Assignments } from '../access/assignments/assignments.js';
import { retryWhenRemoved } from '../access/assignments/concurrent-removal.js';
import type { Caller } from '../caller.js';
import { DomainError, invalidField, unstorable } from '../errors.js';
import { type AppElsewhere, importableApps } from '../mfa/imported-apps.js';
import { environmentRule, type RuleOfEnvironment } from '../passwords/context-rows.js';
import { importable } from '../passwords/importable.js';
import type { Passwords } from '../passwords/passwords.js';
import { setActive } from './activation.js';
import { type Added, addIdentities, type ToAdd } from './add-many.js';
import { assertMetadata } from './metadata.js';
import type { NewIdentity } from './new-identity.js';

export interface BulkIdentity extends NewIdentity {
  /** A password hash from elsewhere, instead of a password. */
  passwordHash: string | null;
  /** Authenticator apps that the person uses elsewhere. */
  apps: readonly AppElsewhere[];
  /** The role to assign, at the node or at the root. */
  roleId: string | null;
  nodeId: string | null;
}

export interface BulkDeps {
  db: Db;
  sealing: Pick<Sealing, 'seal'>;
  passwords: Pick<Passwords, 'assertAcceptable' | 'hash'>;
  assignments: Pick<Assignments, 'forNewcomers'>;
  now: Clock;
}

/** Each takes some 20 ms of a core to hash, and all sign-ins wait in the same queue. */
const maxPasswords = 50;

/** An entry with nothing wrong so far: its place in the list, and what will be stored. */
interface Candidate extends ToAdd {
  index: number;
  roleId: string | null;
  nodeId: string | null;
}

/** Adds many Identities to an Environment, each independently (contract §5, docs/decisions/0023). */
export function createBulkIdentities({ db, sealing, passwords, assignments, now }: BulkDeps) {
  /** What will be stored of an entry. @throws DomainError with what is wrong */
  async function candidate(index: number, one: BulkIdentity, { rule, takesApps }: Rules): Promise<Candidate> {
    const { password, passwordHash, ...others } = one;
    if (!isStorable(one)) throw new DomainError('validation.failed', { details: [unstorable] });
    assertMetadata(one.metadata);
    if (one.nodeId !== null && one.roleId === null) throw invalidField('node_id', 'without_role', 'needs a `role_id`');
    if (one.apps.length > 0 && !takesApps) throw new DomainError('mfa.factor_not_allowed');
    const rest = { ...others, index, apps: importableApps(sealing, one.apps, 'mfa_factors') };
    if (password === null) return { ...rest, passwordHash: passwordHash && importable(passwordHash, 'password_hash') };
    if (passwordHash !== null)
      throw invalidField('password_hash', 'with_password', 'cannot be used together with a `password`');
    const context = [...rule.context, one.email, one.firstName, one.lastName];
    await passwords.assertAcceptable(password, { ...rule, context, field: 'password' });
    return { ...rest, passwordHash: await passwords.hash(password) };
  }

  /**
   * Stores them in one transaction.
   * @throws DomainError role.not_found, nodes.node_not_found if one was deleted meanwhile
   */
  async function add(scope: EnvironmentScope, caller: Caller, candidates: readonly Candidate[]): Promise<Added[]> {
    const { accepted, refused, assign } = await granted(assignments, scope, caller, candidates);
    const work = async (tx: EntityManager) => {
      const rows = accepted.map(({ one }) => one);
      const made = await addIdentities(tx, scope, rows, now());
      const assigned = made.flatMap((result, i): PlacedAssignment[] => {
        const place = accepted[i]?.place;
        return place && result.status === 'created' ? [{ ...place, identityId: result.id }] : [];
      });
      await assign(tx, assigned);
      for (const [i, result] of made.entries()) {
        const isOut = result.status === 'created' && accepted[i]?.one.isActive === false;
        if (isOut) await setActive(tx, scope, result.id, { isActive: false, at: now() });
      }
      return made;
    };
    const added = accepted.length === 0 ? [] : await retryingDeadlocks(() => db.transaction(scope, work));
    const results = new Map(accepted.map(({ one }, i) => [one, added[i] as Added]));
    return candidates.map((one) => results.get(one) ?? (refused.get(one) as Added));
  }

  /**
   * @param wanted each entry, or what is wrong with it already
   * @returns the outcome for each, in order
   * @throws DomainError validation.failed if more than `maxPasswords` have a password; service.unavailable if too many
   *   wait to be hashed
   */
  return async (
    scope: EnvironmentScope,
    caller: Caller,
    wanted: readonly (BulkIdentity | DomainError)[],
  ): Promise<Added[]> => {
    assertFewPasswords(wanted);
    const rules = await db.transaction(scope, (tx) => rulesOf(tx, scope));
    const results: (Added | undefined)[] = [];
    const candidates: Candidate[] = [];
    // One after the other: several would crowd sign-ins out of the thread pool.
    for (const [index, one] of wanted.entries()) {
      const outcome = one instanceof DomainError ? one : await candidate(index, one, rules).catch(refusedAt(index));
      if (outcome instanceof DomainError) results[index] = { status: 'failed', error: outcome };
      else candidates.push(outcome);
    }
    await assertStillMay(); // checked again after all those hashes
    const added = await retryWhenRemoved(() => add(scope, caller, candidates));
    for (const [i, { index }] of candidates.entries()) results[index] = added[i];
    return results as Added[];
  };
}

export type BulkIdentities = ReturnType<typeof createBulkIdentities>;

/** What an Environment takes. */
interface Rules {
  /** As a password. */
  rule: RuleOfEnvironment;
  /** As second factors: authenticator apps. */
  takesApps: boolean;
}

async function rulesOf(tx: EntityManager, scope: EnvironmentScope): Promise<Rules> {
  const settings = await tx.findOneBy(EnvironmentSettings, within(scope));
  // Without settings the Environment is being deleted, as the caller will find out.
  const takesApps = settings?.mfaAllowedFactors.includes('totp') ?? true;
  return { rule: await environmentRule(tx, scope), takesApps };
}

/** The entries whose role may be given, each with its node; and the others. */
async function granted(
  assignments: Pick<Assignments, 'forNewcomers'>,
  scope: EnvironmentScope,
  caller: Caller,
  candidates: readonly Candidate[],
) {
  const withRole = candidates.filter((one): one is Candidate & { roleId: string } => one.roleId !== null);
  const { places, assign } = await assignments.forNewcomers(
    scope,
    caller,
    withRole.map(({ roleId, nodeId }) => ({ roleId, nodeId })),
  );
  const placeOf = new Map<Candidate, (typeof places)[number] | undefined>(withRole.map((one, i) => [one, places[i]]));
  const refused = new Map<Candidate, Added>();
  const accepted = candidates.flatMap((one) => {
    const place = placeOf.get(one);
    if (!(place instanceof DomainError)) return [{ one, place }];
    refused.set(one, { status: 'failed', error: place });
    return [];
  });
  return { accepted, refused, assign };
}

function assertFewPasswords(wanted: readonly (BulkIdentity | DomainError)[]): void {
  const count = wanted.filter((one) => !(one instanceof DomainError) && one.password !== null).length;
  if (count <= maxPasswords) return;
  const message = `have more than ${maxPasswords} passwords; send hashes instead, or fewer at once`;
  throw invalidField('identities', 'too_many_passwords', message);
}

/** The refusal of one entry, with fields named from the body on. Too much load is the fault of none of them. */
const refusedAt =
  (index: number) =>
  (error: unknown): DomainError => {
    if (!(error instanceof DomainError) || error.code === 'service.unavailable') throw error;
    const details = error.options.details?.map((detail) => ({
      ...detail,
      field: [`identities[${index}]`, detail.field].filter(Boolean).join('.'),
    }));
    return new DomainError(error.code, details && { details });
  };
