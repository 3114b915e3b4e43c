import { type TSchema, Type } from 'typebox';
import type { AdminCaller } from '../../domain/caller.js';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import { denied } from '../denials.js';
import type { Context } from '../operation.js';
import { Id, Nullable } from '../schemas.js';

const Ids = Type.Array(Id, { maxItems: 1000 });
const LimitsView = Type.Object({ application_ids: Ids, environment_ids: Ids, node_ids: Ids });

/** Where a role counts, as it is answered. */
export const Limits = Nullable(LimitsView);

/** Where a role is to count, as it is asked for. Absent lists are empty. */
export const WantedLimits = Nullable(
  Type.Partial(LimitsView, {
    additionalProperties: false,
    description:
      'Null: everywhere in the account. Otherwise only in these applications (with all of their environments) and ' +
      'environments; there are no hierarchy nodes yet, so `node_ids` is empty. At least one has to be named.',
  }),
);

const refusals = new Set<ErrorCode>(['administrator_role.cannot_grant', 'member.owner_required']);

/**
 * Runs what an administrator does to rights. That they lack the right to is found out in the middle of it, and is an audit
 * row like any other 403 (contract §10).
 */
export async function granting<T>(
  { services, scope, caller }: Pick<Context<'account', TSchema, TSchema, TSchema>, 'services' | 'scope' | 'caller'>,
  operationId: string,
  work: (userId: string) => Promise<T>,
): Promise<T> {
  try {
    return await work((caller as AdminCaller).userId);
  } catch (error) {
    if (!(error instanceof DomainError && refusals.has(error.code))) throw error;
    throw await denied(services.db, { caller, scope, credential: '' }, operationId, error);
  }
}
