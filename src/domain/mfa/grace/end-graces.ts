import type { EntityManager } from 'typeorm';
import type { MfaGrace } from '../../../../entities/mfa-grace.js';
import { startAllLater } from '../../outbox.js';
import { mfaGraceInput } from './rules.js';

/** Ends the graces of people who leave an Environment. Their processes find no row then, and end. */
export async function endGraces(tx: EntityManager, environmentId: string, identityIds: string[]): Promise<void> {
  type Row = Pick<MfaGrace, 'id' | 'accountId' | 'environmentId' | 'identityId' | 'status'>;
  const [graces] = await tx.query<[Row[], number]>(
    `delete from mfa_graces where environment_id = $1 and identity_id = any($2)
     returning id, account_id as "accountId", environment_id as "environmentId", identity_id as "identityId", status`,
    [environmentId, identityIds],
  );
  const running = graces.filter(({ status }) => status === 'running');
  await startAllLater(
    tx,
    'mfaGrace',
    running.map((row) => mfaGraceInput(row, 'policyChanged')),
  );
}
