import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Counter } from '../../../entities/counter.js';
import { Environment } from '../../../entities/environment.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import type { ApplicationScope } from '../../platform/scope.js';
import { seedAccess } from '../access/roles/seed.js';
import { recordEvent } from '../events/record.js';
import { seedHierarchy } from '../hierarchy/seed.js';
import { type Naming, underFreeSlug } from '../slugs.js';
import { environmentDefaults } from './defaults.js';

/**
 * Adds an Environment with everything that it needs to work, in the caller's transaction.
 * @throws DomainError environment.slug_taken for a requested slug
 */
export async function addEnvironment(
  tx: EntityManager,
  { accountId, applicationId }: ApplicationScope,
  { type, now, ...naming }: Naming & Pick<Environment, 'type'> & { now: Date },
): Promise<Environment> {
  const times = { createdAt: now, updatedAt: now };
  const environment = await underFreeSlug(naming, {
    fallback: type,
    taken: 'environment.slug_taken',
    async insert(slug) {
      const row: Environment = { id: uuidv7(), accountId, applicationId, name: naming.name, slug, type, ...times };
      const { raw } = await tx
        .createQueryBuilder()
        .insert()
        .into(Environment)
        .values(row)
        .orIgnore()
        .returning('id')
        .execute();
      return raw.length > 0 && row;
    },
  });
  const scope = { accountId, environmentId: environment.id };
  await tx.insert(EnvironmentSettings, { ...environmentDefaults(), ...scope, updatedAt: now });
  await tx.insert(Counter, [
    { ...scope, name: 'identities', value: '0' },
    { ...scope, name: 'nodes', value: '1' }, // the root
    { ...scope, name: 'organizations', value: '0' },
  ]);
  await seedHierarchy(tx, { ...scope, applicationId }, { name: naming.name, now });
  await seedAccess(tx, { ...scope, applicationId }, now);
  await recordEvent(tx, 'environment.created', {
    ...scope,
    applicationId,
    resourceId: environment.id,
    resourceLabel: environment.name,
    metadata: { type },
  });
  return environment;
}
