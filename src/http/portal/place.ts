import { DomainError } from '../../domain/errors.js';
import type { AccountScope, ApplicationScope, EnvironmentScope } from '../../domain/scope.js';

/*
 * PATCH and DELETE of a part of the tree are mounted one level above it. Afterwards the slug in their path is gone, and a
 * retry with the same Idempotency-Key still has to get the first answer instead of a 404 (contract §1). The surface has
 * looked the whole path up all the same, so what the caller may not see is missing here too.
 */

/** @throws DomainError application.not_found where the path's slug names none */
export function applicationOf(scope: AccountScope): ApplicationScope {
  const { accountId, applicationId } = scope as AccountScope & Partial<ApplicationScope>;
  if (applicationId === undefined) throw new DomainError('application.not_found');
  return { accountId, applicationId };
}

/** @throws DomainError environment.not_found where the path's slug names none */
export function environmentOf({ accountId, applicationId, environmentId }: ApplicationScope): EnvironmentScope {
  if (environmentId === undefined) throw new DomainError('environment.not_found');
  return { accountId, applicationId, environmentId };
}
