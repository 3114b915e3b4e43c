import { type EntityManager, In } from 'typeorm';
import { Application } from '../../../entities/application.js';
import { Environment } from '../../../entities/environment.js';
import type { RoleLimits } from '../../../entities/membership-role.js';
import { Node } from '../../../entities/node.js';
import type { AccountScope } from '../../platform/scope.js';
import { DomainError, type ErrorDetail } from '../errors.js';

export type { RoleLimits };

/** A part of an Account; without ids, the Account itself. */
export interface Place {
  applicationId?: string | null;
  environmentId?: string | null;
  /** The ids from the root to the node itself. */
  nodePath?: readonly string[];
}

/** Limits as a caller names them. */
export type WantedLimits = Partial<RoleLimits> | null | undefined;

/** Returns whether a role with these limits applies at a place; in the Account itself only one without limits does. */
export function covers(limits: RoleLimits | null, { applicationId, environmentId, nodePath }: Place): boolean {
  if (!limits) return true;
  return (
    (applicationId != null && limits.application_ids.includes(applicationId)) ||
    (environmentId != null && limits.environment_ids.includes(environmentId)) ||
    (nodePath?.some((id) => limits.node_ids.includes(id)) ?? false)
  );
}

export const sameLimits = (a: WantedLimits, b: WantedLimits): boolean =>
  JSON.stringify(a ? normal(a) : null) === JSON.stringify(b ? normal(b) : null);

/**
 * Returns limits in their stored form. Every id has to belong to the Account. What they name is locked until the end of
 * the transaction, so that a later deletion finds the limits (`forgetInLimits`).
 * @param field where they were in the request, for the error's details
 * @throws DomainError validation.failed
 */
export async function checkedLimits(
  tx: EntityManager,
  { accountId }: AccountScope,
  wanted: WantedLimits,
  field: string,
): Promise<RoleLimits | null> {
  if (!wanted) return null;
  const limits = normal(wanted);
  const { application_ids, environment_ids, node_ids } = limits;
  if (application_ids.length + environment_ids.length + node_ids.length === 0) {
    const message = 'must name at least one place; use null for the whole account';
    throw new DomainError('validation.failed', { details: [{ field, code: 'empty', message }] });
  }
  const known = await knownOf(tx, accountId, limits);
  const details = (Object.keys(known) as (keyof RoleLimits)[]).flatMap((kind): ErrorDetail[] =>
    (wanted[kind] ?? []).flatMap((id, i) =>
      known[kind].has(id)
        ? []
        : [{ field: `${field}.${kind}[${i}]`, code: 'unknown', message: 'is not in the account' }],
    ),
  );
  if (details.length > 0) throw new DomainError('validation.failed', { details });
  return limits;
}

async function knownOf(
  tx: EntityManager,
  accountId: string,
  { application_ids, environment_ids, node_ids }: RoleLimits,
) {
  const held = (ids: string[]) => ({
    where: { accountId, id: In(ids) },
    order: { id: 'ASC' as const },
    lock: { mode: 'pessimistic_read' as const },
  });
  const around = (await nodesOf(tx, accountId, node_ids)).map(({ environmentId }) => environmentId);
  const applications = await tx.find(Application, held(application_ids));
  const environments = idsOf(await tx.find(Environment, held([...environment_ids, ...around])));
  const nodes = await tx.find(Node, held(node_ids));
  return {
    application_ids: idsOf(applications),
    environment_ids: environments,
    // A node of an Environment under removal still exists: it is deleted later.
    node_ids: idsOf(nodes.filter(({ environmentId }) => environments.has(environmentId))),
  };
}

/** Returns every place that limits name; without limits, the Account itself. */
export async function placesOf(
  tx: EntityManager,
  { accountId }: AccountScope,
  limits: RoleLimits | null,
): Promise<Place[]> {
  if (!limits) return [{}];
  const environments = await tx.findBy(Environment, { accountId, id: In(limits.environment_ids) });
  const nodes = await nodesOf(tx, accountId, limits.node_ids);
  return [
    ...limits.application_ids.map((applicationId) => ({ applicationId })),
    ...environments.map(({ id, applicationId }) => ({ applicationId, environmentId: id })),
    ...nodes.map(({ applicationId, environmentId, path }) => ({ applicationId, environmentId, nodePath: path })),
  ];
}

const nodesOf = (tx: EntityManager, accountId: string, ids: string[]) =>
  tx.find(Node, {
    where: { accountId, id: In(ids) },
    select: { id: true, applicationId: true, environmentId: true, path: true },
  });

const idsOf = (rows: { id: string }[]) => new Set(rows.map(({ id }) => id));
const sorted = (ids: string[] = []) => [...new Set(ids)].sort();
const normal = ({ application_ids, environment_ids, node_ids }: Partial<RoleLimits>): RoleLimits => ({
  application_ids: sorted(application_ids),
  environment_ids: sorted(environment_ids),
  node_ids: sorted(node_ids),
});
