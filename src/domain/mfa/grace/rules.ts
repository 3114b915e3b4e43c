import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { MfaGrace } from '../../../../entities/mfa-grace.js';
import { after, type Clock, days as inMs } from '../../../platform/clock.js';
import type { ProcessInput } from '../../../platform/process-kinds.js';
import type { EnvironmentScope } from '../../../platform/scope.js';
import type { EventAction } from '../../events/catalogue.js';
import { type EventDetails, recordEvent, recordEvents } from '../../events/record.js';
import { requiredToHaveMfa } from '../../organizations/belonging.js';
import { startAllLater } from '../../outbox.js';

type Moment = ReturnType<Clock>;
type News = NonNullable<ProcessInput<'mfaGrace'>['news']>;

export interface Policy {
  /** Whether the Environment requires MFA now. */
  required: boolean;
  /** Its grace period. */
  days: number;
}

interface Begin {
  identityId: string;
  days: number;
  now: Moment;
  /** Whether an existing grace starts over. */
  anew?: boolean;
}

/** If a policy shortens the time, everybody keeps at least a day, since they have to be notified first. */
const minNotice = inMs(1);

const columns = `id, account_id as "accountId", environment_id as "environmentId", identity_id as "identityId", status, round,
  started_at as "startedAt", expires_at as "expiresAt"`;
type Row = Pick<
  MfaGrace,
  'id' | 'accountId' | 'environmentId' | 'identityId' | 'status' | 'round' | 'startedAt' | 'expiresAt'
>;

/** The input of a grace's process. */
export const mfaGraceInput = (
  { id, accountId, environmentId, identityId }: Pick<Row, 'id' | 'accountId' | 'environmentId' | 'identityId'>,
  news?: News,
): ProcessInput<'mfaGrace'> => ({
  graceId: id,
  accountId,
  environmentId,
  identityId,
  ...(news && { news }),
});

/**
 * Begins a grace, in the caller's transaction, unless one is running; returns the one that applies. It lasts no longer
 * than the present settings allow. They are locked until the end of the transaction: a change that shortens them either
 * finds this grace, or is visible here.
 */
export async function beginGrace(
  tx: EntityManager,
  scope: EnvironmentScope,
  { identityId, days, now, anew = false }: Begin,
): Promise<Pick<Row, 'expiresAt'>> {
  const { accountId, environmentId } = scope;
  if (days > 0) {
    // A grace that ended in time, and whose factor was removed, continues to its original end: nobody gets the time
    // twice.
    const begun = await tx.query<Row[]>(
      `with settings as materialized (
         select make_interval(secs => least($6::float8, mfa_grace_period_days * 86400)) as life from environment_settings
         where account_id = $2 and environment_id = $3 and mfa_grace_period_days > 0 for share)
       insert into mfa_graces as grace (id, account_id, environment_id, identity_id, status, round, started_at, expires_at, created_at)
       select $1::uuid, $2::uuid, $3::uuid, $4::uuid, 'running', 1, $5::timestamptz, $5::timestamptz + life, $5::timestamptz from settings
       on conflict (environment_id, identity_id) do update set status = 'running', ended_reason = null, ended_at = null,
         round = case when grace.status = 'enrolled' and not $7::boolean then grace.round else grace.round + 1 end,
         started_at = case when grace.status = 'enrolled' and not $7 then grace.started_at else excluded.started_at end,
         expires_at = case when grace.status = 'enrolled' and not $7 then grace.expires_at else excluded.expires_at end
       where $7 or grace.status = 'reset' or (grace.status = 'enrolled' and grace.expires_at > $5)
       returning ${columns}`,
      [uuidv7(), accountId, environmentId, identityId, now, inMs(days) / 1000, anew],
    );
    if (begun[0]) {
      await startAllLater(tx, 'mfaGrace', [mfaGraceInput(begun[0], 'reset')]);
      await recordEvent(tx, anew ? 'auth.mfa_grace_reset' : 'auth.mfa_grace_started', detailsOf(begun[0], scope));
      return begun[0];
    }
  }
  const [existing] = await tx.query<Row[]>(
    `select ${columns} from mfa_graces where account_id = $1 and environment_id = $2 and identity_id = $3`,
    [accountId, environmentId, identityId],
  );
  return existing && existing.status !== 'reset' ? existing : { expiresAt: now };
}

/**
 * Ends the person's graces as `enrolled`, also one that has expired: should the factor be removed, its time is still
 * over.
 */
export async function settleEnrollment(tx: EntityManager, scope: EnvironmentScope, identityId: string, now: Moment) {
  await change(tx, scope, {
    set: `status = 'enrolled', ended_reason = 'factor_enrolled', ended_at = $3`,
    where: `identity_id = $2 and status in ('running', 'cancelled', 'expired')`,
    values: [identityId, now],
    news: 'enrolled',
    action: 'auth.mfa_grace_enrolled',
  });
}

/** Resets the person's graces: of all Environments, or of all but this one. */
export async function resetGraces(
  tx: EntityManager,
  scope: EnvironmentScope,
  identityId: string,
  { all, now }: { all: boolean; now: Moment },
) {
  await change(tx, scope, {
    set: `status = 'reset', ended_reason = 'mfa_reset', ended_at = $3`,
    where: `identity_id = $2 and status <> 'reset' and ($4 or environment_id <> $5)`,
    values: [identityId, now, all, scope.environmentId],
    news: 'reset',
    action: 'auth.mfa_grace_reset',
  });
}

/**
 * Restarts the time to enroll of a person whose factors were reset: here at once, elsewhere at the next sign-in.
 * @param days 0: there is no time to enroll any more
 */
export async function restartGrace(
  tx: EntityManager,
  scope: EnvironmentScope,
  { identityId, days, now }: Omit<Begin, 'anew'>,
) {
  await resetGraces(tx, scope, identityId, { all: days <= 0, now });
  if (days > 0) await beginGrace(tx, scope, { identityId, days, now, anew: true });
}

/** SQL: whether an organization of a grace's person requires MFA, whatever the Environment does. */
const requiredByOrganization = requiredToHaveMfa('mfa_graces.environment_id', 'mfa_graces.identity_id');

const requiredByEnvironment = `exists (
  select from environment_settings s where s.environment_id = mfa_graces.environment_id and s.mfa_policy = 'required')`;

/** SQL: whether an organization or the Environment requires MFA of the person of a row `mfa_graces`. */
export const isMfaRequired = `(${requiredByOrganization} or ${requiredByEnvironment})`;

/** Whether an organization or the Environment still requires MFA of a grace's person. */
export async function isRequiredStill(tx: EntityManager, { id }: Pick<Row, 'id'>): Promise<boolean> {
  const required = await tx.query<unknown[]>(`select from mfa_graces where id = $1 and ${isMfaRequired}`, [id]);
  return required.length > 0;
}

/** SQL: whether the person of a row `mfa_graces` has no factor of any kind. */
const hasNoFactor = 'not exists (select from mfa_factors f where f.identity_id = mfa_graces.identity_id)';
const notRequired = {
  set: `status = 'reset', ended_reason = 'mfa_not_required', ended_at = $3`,
  news: 'policyChanged',
} as const;

/**
 * Resets the graces that ended in time when their person removes the last factor and nobody requires one. Otherwise the
 * person would be refused at once on the day when one is required again.
 */
export async function settleLastRemoval(tx: EntityManager, scope: EnvironmentScope, identityId: string, now: Moment) {
  await change(tx, scope, {
    ...notRequired,
    where: `identity_id = $2 and status = 'enrolled' and not ${isMfaRequired}`,
    values: [identityId, now],
    action: 'auth.mfa_grace_reset',
  });
}

/**
 * Applies a changed policy to the Environment's graces that are not over. One that is over stays so until an
 * administrator resets it. Where MFA is not required any more, also resets graces that ended in time if their person
 * has no factor left. Those people are few; for the many who have one, `settleLastRemoval` does it when they remove it.
 */
export async function settlePolicy(tx: EntityManager, scope: EnvironmentScope, policy: Policy, now: Moment) {
  const waiting = `environment_id = $2 and status in ('running', 'cancelled') and expires_at > $3`;
  if (!policy.required) {
    const forsaken = `environment_id = $2 and status = 'enrolled' and ${hasNoFactor}`;
    await change(tx, scope, {
      ...notRequired,
      where: `(${waiting} or ${forsaken}) and not ${requiredByOrganization}`,
      values: [scope.environmentId, now],
      action: 'auth.mfa_grace_reset',
    });
  }
  const end = `greatest(started_at + make_interval(secs => $4), least(expires_at, $5))`;
  await change(tx, scope, {
    set: `expires_at = ${end}`,
    where: `${waiting} and expires_at <> ${end}`,
    values: [scope.environmentId, now, inMs(policy.days) / 1000, after(now, minNotice)],
    news: 'policyChanged',
    action: 'auth.mfa_grace_moved',
  });
}

interface Change {
  set: string;
  where: string;
  /** From `$2` on; `$1` is the Account. */
  values: unknown[];
  news: News;
  action: EventAction;
}

/** Changes graces of the Account, and tells their processes. */
async function change(tx: EntityManager, scope: EnvironmentScope, { set, where, values, news, action }: Change) {
  const [rows] = await tx.query<[Row[], number]>(
    `update mfa_graces set ${set} where account_id = $1 and ${where} returning ${columns}`,
    [scope.accountId, ...values],
  );
  await startAllLater(
    tx,
    'mfaGrace',
    rows.map((row) => mfaGraceInput(row, news)),
  );
  await recordEvents(
    tx,
    action,
    rows.map((row) => detailsOf(row, scope)),
  );
}

/** The event is of the grace's Environment, which may be another one of the Account. */
const detailsOf = (row: Row, { environmentId, applicationId }: EnvironmentScope): EventDetails => ({
  accountId: row.accountId,
  applicationId: row.environmentId === environmentId ? applicationId : null,
  environmentId: row.environmentId,
  resourceId: row.identityId,
  metadata: { expires_at: row.expiresAt },
});
