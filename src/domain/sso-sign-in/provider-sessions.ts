import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { SsoConnection } from '../../../entities/sso-connection.js';
import type { SsoSession } from '../../../entities/sso-session.js';
import type { Clock } from '../../platform/clock.js';
import { hashSecret } from '../../platform/crypto/one-time-secret.js';
import { type ResealDeps, resealColumn } from '../../platform/crypto/reseal-column.js';
import type { Sealing } from '../../platform/crypto/sealing.js';
import type { Assertion, ProviderHandle } from '../sso-protocols/assertion.js';

/** The context of a sealed handle. */
const handleContext = (id: string): string => `sso-session:${id}`;

/** Re-encrypts the handles that an older master key sealed; returns how many. */
export const resealProviderSessions = (deps: ResealDeps): Promise<number> =>
  resealColumn(deps, {
    table: 'sso_sessions',
    column: 'sealed_handle',
    where: 'true',
    contextOf: handleContext,
  });

/**
 * Kept as long as anything may last that began by it: an administrator's session, or the grants given at the end of an
 * end user's session.
 */
const insertText = `
insert into sso_sessions (id, account_id, connection_id, link_id, index_hash, sealed_handle, created_at, not_on_or_after, expires_at)
values ($1, $2, $3, $4, $5, $6, $7::timestamptz, $8, $7 + greatest(interval '90 days', (
  select make_interval(secs => session_ttl_seconds + refresh_token_max_ttl_seconds) from environment_settings where environment_id = $9)))`;

/** What is stored of people's sessions at their providers (docs/decisions/0046). */
export function createProviderSessions({ sealing, now }: { sealing: Sealing; now: Clock }) {
  return {
    /**
     * Stores the provider session of an assertion, in the transaction that links its subject.
     * @returns its id, for the session here
     */
    async store(
      tx: EntityManager,
      { id: connectionId, accountId, environmentId }: Pick<SsoConnection, 'id' | 'accountId' | 'environmentId'>,
      { assertion, linkId }: { assertion: Pick<Assertion, 'sessionIndex' | 'sessionUntil' | 'handle'>; linkId: string },
    ): Promise<string> {
      const { sessionIndex, sessionUntil, handle } = assertion;
      const [id, at] = [uuidv7(), now()];
      const indexHash = sessionIndex === null ? null : hashSecret(sessionIndex);
      const sealedHandle = sealing.seal(JSON.stringify(handle), handleContext(id));
      const whose = [id, accountId, connectionId, linkId];
      await tx.query(insertText, [...whose, indexHash, sealedHandle, at, sessionUntil, environmentId]);
      return id;
    },

    /** What is needed to end it at the provider. */
    handleOf: ({ id, sealedHandle }: Pick<SsoSession, 'id' | 'sealedHandle'>): ProviderHandle =>
      JSON.parse(sealing.open(sealedHandle, handleContext(id))),
  };
}

export type ProviderSessions = ReturnType<typeof createProviderSessions>;
