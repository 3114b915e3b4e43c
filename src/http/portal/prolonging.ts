import type { TSchema } from 'typebox';
import type { AdminCaller } from '../../domain/caller.js';
import { DomainError } from '../../domain/errors.js';
import { denied } from '../denials.js';
import type { Context } from '../operation.js';
import { granting } from './granting.js';

/**
 * Runs what prolongs an offer of rights: besides the operation's own capability it takes that of managing members. Who lacks it
 * is refused, and written down, like whoever lacks the first one.
 */
export async function prolonging<T>(
  context: Pick<Context<'account', TSchema, TSchema, TSchema>, 'services' | 'scope' | 'caller'>,
  operationId: string,
  work: (userId: string) => Promise<T>,
): Promise<T> {
  const { services, scope, caller } = context;
  if (!(caller as AdminCaller).capabilities.includes('members.manage')) {
    const refusal = new DomainError('account.capability_required');
    throw await denied(services.db, { caller, scope, credential: '' }, operationId, refusal);
  }
  return granting(context, operationId, work);
}
