import { type EntityManager, MoreThan } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { TrustedDevice } from '../../../entities/trusted-device.js';
import { after, type Clock, hours, days as inMs } from '../../platform/clock.js';
import { hashSecret, newSecret } from '../../platform/crypto/one-time-secret.js';
import { type Db, within } from '../../platform/database/db.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import { accountPageLimit } from '../account-page-limit.js';
import { DomainError } from '../errors.js';
import { recordEvent } from '../events/record.js';

export interface Trust extends TrustedBrowser {
  identityId: string;
}

/** A browser that is to be trusted. */
export interface TrustedBrowser {
  /** For how many days; at least one. */
  days: number;
  /** The cookie that it has now. */
  device: string | null;
  userAgent: string | null;
}

/** A new value for the cookie, and how long any trust in this browser lasts. */
export interface Trusted {
  device: string;
  expiresAt: Date;
}

const noteUseAfter = hours(1);

const recognizeStatement = {
  name: 'recognize_trusted_device',
  text: `
select id, last_used_at as "lastUsedAt" from trusted_devices
where device_hash = $4 and environment_id = $2 and identity_id = $3 and account_id = $1 and expires_at > $5`,
};
const noteUseStatement = {
  name: 'note_use_of_trusted_device',
  text: 'update trusted_devices set last_used_at = $2 where id = $1 and last_used_at < $2',
};
/**
 * The trust of other people or Environments in this browser moves to its new cookie as well, so that the old value is
 * worthless.
 */
const trustStatement = {
  name: 'trust_device',
  text: `
with moved as (
  update trusted_devices set device_hash = $2,
    last_used_at = case when environment_id = $5 and identity_id = $6 then $8 else last_used_at end,
    expires_at = case when environment_id = $5 and identity_id = $6 then $9 else expires_at end,
    user_agent = case when environment_id = $5 and identity_id = $6 then $7 else user_agent end
  where device_hash = $1 and expires_at > $8::timestamptz
  returning environment_id, identity_id, expires_at
), created as (
  insert into trusted_devices (id, account_id, environment_id, identity_id, device_hash, user_agent, created_at, last_used_at, expires_at)
  select $3::uuid, $4::uuid, $5::uuid, $6::uuid, $2::bytea, $7::text, $8::timestamptz, $8::timestamptz, $9::timestamptz
  where not exists (select from moved where environment_id = $5 and identity_id = $6)
)
select greatest($9::timestamptz, (select max(expires_at) from moved)) as "expiresAt"`,
};

const revokeAllText = `
delete from trusted_devices where account_id = $1 and environment_id = $2 and identity_id = $3 returning id`;

/** Browsers in which a person need not show a second factor for a while (contract §2, `trusted_device`). */
export function createTrustedDevices({ db, now }: { db: Db; now: Clock }) {
  return {
    /** Whether a browser is trusted for this Identity in this Environment. Notes its use, at most once an hour. */
    async recognize(scope: EnvironmentScope, identityId: string, device: string | null): Promise<boolean> {
      if (device === null) return false;
      const { accountId, environmentId } = scope;
      const at = now();
      const [found] = await db.statement<Pick<TrustedDevice, 'id' | 'lastUsedAt'>>(recognizeStatement, [
        accountId,
        environmentId,
        identityId,
        hashSecret(device),
        at,
      ]);
      if (found && after(found.lastUsedAt, noteUseAfter) <= at) await db.statement(noteUseStatement, [found.id, at]);
      return found !== undefined;
    },

    /**
     * Trusts a browser, each time under a new cookie.
     * @param on a transaction of the system that has locked the person, so that the end of all trust includes this one
     */
    async trust(
      scope: EnvironmentScope,
      { identityId, days, device, userAgent }: Trust,
      on: Pick<Db, 'statement'>,
    ): Promise<Trusted> {
      const next = newSecret();
      const at = now();
      const [trusted] = await on.statement<{ expiresAt: Date }>(trustStatement, [
        hashSecret(device ?? newSecret()), // without a cookie nothing is moved: no row has this hash
        hashSecret(next),
        uuidv7(),
        scope.accountId,
        scope.environmentId,
        identityId,
        userAgent?.slice(0, 500) ?? null,
        at,
        after(at, inMs(days)),
      ]);
      return { device: next, expiresAt: (trusted as { expiresAt: Date }).expiresAt };
    },

    /** The trusted browsers, most recently used first, and how many there are in all. */
    list: (scope: EnvironmentScope, identityId: string): Promise<[TrustedDevice[], total: number]> =>
      db.transaction(scope, (tx) =>
        tx.findAndCount(TrustedDevice, {
          where: { ...within(scope), identityId, expiresAt: MoreThan(now()) },
          order: { lastUsedAt: 'desc', id: 'desc' },
          take: accountPageLimit,
        }),
      ),

    /** Ends the trust in one of them. @throws DomainError mfa.trusted_device_not_found */
    revoke: (scope: EnvironmentScope, identityId: string, id: string): Promise<void> =>
      db.transaction(scope, async (tx) => {
        const { affected } = await tx.delete(TrustedDevice, { ...within(scope), identityId, id });
        if (!affected) throw new DomainError('mfa.trusted_device_not_found');
        await recordRevocation(tx, scope, identityId, [id]);
      }),

    /** Ends the trust in all of them, in this Environment. */
    revokeAll: (scope: EnvironmentScope, identityId: string): Promise<void> =>
      db.transaction(scope, async (tx) => {
        const { accountId, environmentId } = scope;
        const [gone] = await tx.query<[{ id: string }[], number]>(revokeAllText, [
          accountId,
          environmentId,
          identityId,
        ]);
        const ids = gone.map(({ id }) => id);
        if (ids.length > 0) await recordRevocation(tx, scope, identityId, ids);
      }),
  };
}

export type TrustedDevices = ReturnType<typeof createTrustedDevices>;

const recordRevocation = (tx: EntityManager, scope: EnvironmentScope, identityId: string, ids: readonly string[]) =>
  recordEvent(tx, 'auth.trusted_devices_revoked', {
    ...scope,
    resourceId: identityId,
    actor: { type: 'identity', id: identityId },
    metadata: { device_ids: ids },
  });

/**
 * Ends the trust in all of a person's browsers, in the transaction of what made them doubtful: a new password, a
 * removed or reset factor, a deactivation. In the whole Account unless the scope names an Environment.
 */
export async function distrustDevices(
  tx: EntityManager,
  { accountId, environmentId }: AccountScope,
  identityId: string,
): Promise<void> {
  await tx.query(
    `delete from trusted_devices where account_id = $1 and identity_id = $2 and ($3::uuid is null or environment_id = $3)`,
    [accountId, identityId, environmentId ?? null],
  );
}
