import type { EntityManager } from 'typeorm';
import { Environment } from '../../../entities/environment.js';
import type { Node } from '../../../entities/node.js';
import type { Clock } from '../../platform/clock.js';
import type { Db } from '../../platform/database/db.js';
import { inParts, type Left } from '../../platform/database/in-parts.js';
import { violates } from '../../platform/database/postgres-errors.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { DomainError } from '../errors.js';
import { changeNode, type NodeChanges } from '../hierarchy/changes.js';
import { createNode, type NewNode } from '../hierarchy/nodes.js';
import { type NodeRemoval, removeInParts } from '../hierarchy/removal-in-parts.js';
import { organizationType } from '../hierarchy/rules.js';
import type { Visibility } from '../hierarchy/visibility.js';
import type { Page } from '../lists/paging.js';
import {
  findOrganization,
  listOrganizations,
  type OrganizationNode,
  type OrganizationPage,
  type ShownOrganization,
  withCounts,
} from './find.js';
import { removeSome } from './remove-all.js';

export type { ShownOrganization } from './find.js';

export type NewOrganization = Omit<NewNode, 'nodeType' | 'status'>;
export type OrganizationChanges = Omit<NodeChanges, 'status' | 'parentId'>;

/** An organization is a node with the same id (contract §5): whatever happens to it, happens to the node. */
export function createOrganizations({ db, now }: { db: Db; now: Clock }) {
  return {
    list: (scope: EnvironmentScope, visibility: Visibility, page: OrganizationPage): Promise<Page<ShownOrganization>> =>
      listOrganizations(db, scope, visibility, page, now()),

    /** @throws DomainError organization.not_found */
    get: (scope: EnvironmentScope, id: string): Promise<OrganizationNode> =>
      db.transaction(scope, async (tx) => withCounts(tx, scope, await findOrganization(tx, scope, id), now())),

    /**
     * @throws DomainError nodes.node_not_found for the parent; nodes.type_unknown, nodes.type_not_allowed,
     *   nodes.too_deep, organization.slug_taken, validation.failed
     */
    create: (scope: EnvironmentScope, input: NewOrganization): Promise<OrganizationNode> =>
      db
        .transaction(scope, async (tx) => {
          const node = await createNode(tx, scope, { ...input, nodeType: organizationType, status: 'active' }, now());
          return { ...node, memberCount: 0, pendingInviteCount: 0 };
        })
        .catch((error: unknown) => {
          throw is(error, 'nodes.slug_taken') ? new DomainError('organization.slug_taken') : error;
        }),

    /** @throws DomainError organization.not_found, organization.slug_taken, version.conflict, validation.failed */
    change: (
      scope: EnvironmentScope,
      id: string,
      { version, changes }: { version: number; changes: OrganizationChanges },
    ): Promise<OrganizationNode> =>
      db
        .transaction(scope, async (tx) => {
          await findOrganization(tx, scope, id);
          const changing = changeNode(tx, scope, { id, version, changes, at: now() });
          return withCounts(
            tx,
            scope,
            await changing.catch(shown((node) => withCounts(tx, scope, node, now()))),
            now(),
          );
        })
        .catch((error: unknown) => {
          throw violates(error, 'nodes_slug') ? new DomainError('organization.slug_taken') : error;
        }),

    /**
     * Deletes an organization; with `cascade` also everything below it.
     * @throws DomainError organization.not_found, nodes.has_children, version.conflict
     */
    async remove(scope: EnvironmentScope, id: string, { version, cascade }: NodeRemoval): Promise<void> {
      const removing = (work: (tx: EntityManager) => Promise<Left>) =>
        db.transaction(scope, async (tx) => {
          await findOrganization(tx, scope, id);
          return work(tx).catch(shown((node) => withCounts(tx, scope, node, now())));
        });
      await removeInParts(removing, scope, { id, version, cascade, now });
    },

    /**
     * Deletes every organization with everything below it, in several transactions: if that is interrupted, the rest is
     * left.
     * @param confirm the slug of the Environment, as typed by whoever deletes them
     * @throws DomainError organization.production_environment, organization.confirmation_required
     */
    async removeAll(scope: EnvironmentScope, confirm: string | undefined): Promise<void> {
      const { accountId, environmentId: id } = scope;
      const environment = await db.transaction(scope, (tx) => tx.findOneBy(Environment, { accountId, id }));
      if (!environment) throw new DomainError('environment.not_found');
      if (environment.type === 'production') throw new DomainError('organization.production_environment');
      if (confirm !== environment.slug) throw new DomainError('organization.confirmation_required');
      await inParts(() => db.transaction(scope, (tx) => removeSome(tx, scope, now())));
    },
  };
}

export type Organizations = ReturnType<typeof createOrganizations>;

const is = (error: unknown, code: DomainError['code']) => error instanceof DomainError && error.code === code;

/** For `.catch`: translates a node's refusals into those of an organization. */
const shown =
  (present: (node: Node) => Promise<OrganizationNode>) =>
  async (error: unknown): Promise<never> => {
    if (is(error, 'nodes.node_not_found')) throw new DomainError('organization.not_found');
    if (!is(error, 'version.conflict')) throw error;
    const current = await present((error as DomainError).options.current as Node);
    throw new DomainError('version.conflict', { current });
  };
