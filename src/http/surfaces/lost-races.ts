import { Environment } from '../../../entities/environment.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { NodeTypeSchema } from '../../../entities/node-type-schema.js';
import { DomainError, type ErrorCode } from '../../domain/errors.js';
import { driverErrorOf, hasCondition } from '../../platform/database/postgres-errors.js';

/** Parents that may be deleted while a request is under way, by the ending of the constraint's name. */
const goneBy: [RegExp, ErrorCode][] = [
  [/_environment_fk$/, 'environment.not_found'],
  [/_application_fk$/, 'application.not_found'],
  [/_account_fk$/, 'account.not_found'],
  [/_(node|parent)_fk$/, 'nodes.node_not_found'],
  [/_organization_fk$/, 'organization.not_found'],
  [/_role_fk$/, 'role.not_found'],
];

/** Entities that exist as long as their Environment: if one is missing, the Environment was deleted. */
const ofEnvironment = new Set<unknown>([Environment, EnvironmentSettings, NodeTypeSchema]);

/** Errors that a retry may not meet again. */
const transient = ['deadlock_detected', 'serialization_failure', 'lock_not_available'] as const;

/**
 * Returns the refusal for a database error that only occurred because somebody else was faster: what the request works
 * on was deleted meanwhile, or two transactions waited for each other, or one for too long, and this one was ended. If
 * there is no more specific error, the next try finds things missing, or creates them again. Null for any other error.
 */
export function lostRaceOf(error: unknown): DomainError | null {
  const { entityClass } = (error ?? {}) as { entityClass?: unknown };
  if (ofEnvironment.has(entityClass)) {
    return new DomainError('environment.not_found', { cause: error });
  }
  const isGone = hasCondition(error, 'foreign_key_violation');
  if (!isGone && !transient.some((condition) => hasCondition(error, condition))) return null;
  const found = goneBy.find(([constraint]) => isGone && constraint.test(driverErrorOf(error)?.constraint ?? ''));
  return found
    ? new DomainError(found[1], { cause: error })
    : new DomainError('service.unavailable', { retryAfter: 1, cause: error });
}
