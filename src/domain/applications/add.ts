import type { EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import { Application } from '../../../entities/application.js';
import type { Environment, EnvironmentType } from '../../../entities/environment.js';
import { addEnvironment } from '../environments/add.js';
import { recordEvent } from '../events/record.js';
import { type Naming, underFreeSlug } from '../slugs.js';

export interface AddedApplication {
  application: Application;
  environments: Record<EnvironmentType, Environment>;
}

/**
 * Adds an Application with its Development and Production Environments, in the caller's transaction, whether or not it
 * is the first one of the Account.
 * @throws DomainError application.slug_taken for a requested slug
 */
export async function addApplication(
  tx: EntityManager,
  { accountId, now, ...naming }: Naming & { accountId: string; now: Date },
): Promise<AddedApplication> {
  const application = await underFreeSlug(naming, {
    fallback: 'application',
    taken: 'application.slug_taken',
    async insert(slug) {
      const row: Application = { id: uuidv7(), accountId, name: naming.name, slug, createdAt: now, updatedAt: now };
      // A taken slug must not abort the transaction, as the error of the unique index would.
      const { raw } = await tx
        .createQueryBuilder()
        .insert()
        .into(Application)
        .values(row)
        .orIgnore()
        .returning('id')
        .execute();
      return raw.length > 0 && row;
    },
  });
  const scope = { accountId, applicationId: application.id };
  await recordEvent(tx, 'application.created', {
    ...scope,
    resourceId: application.id,
    resourceLabel: application.name,
  });
  const environments = {
    development: await addEnvironment(tx, scope, { name: 'Development', type: 'development', now }),
    production: await addEnvironment(tx, scope, { name: 'Production', type: 'production', now }),
  };
  return { application, environments };
}
