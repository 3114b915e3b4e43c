import { v7 as uuidv7 } from 'uuid';
import { Application } from '../../entities/application.js';
import { Environment, type EnvironmentType } from '../../entities/environment.js';
import { EnvironmentMembership } from '../../entities/environment-membership.js';
import { EnvironmentSettings } from '../../entities/environment-settings.js';
import { environmentDefaults } from '../../src/domain/environments/defaults.js';
import type { TestEnvironment } from './oauth/environment.js';
import type { TestProvider } from './oauth/provider.js';

export interface Other {
  name?: string;
  type?: EnvironmentType;
  settings?: Partial<EnvironmentSettings>;
}

/** Creates another Application in the Account of a place, with one Environment. */
export async function newOther(
  provider: Pick<TestProvider, 'db' | 'now'>,
  place: TestEnvironment,
  { name = 'Blog', type = 'development', settings = {} }: Other = {},
) {
  const { accountId } = place;
  const [applicationId, environmentId] = [uuidv7(), uuidv7()];
  const at = provider.now();
  const times = { createdAt: at, updatedAt: at };
  await provider.db.transaction('system', async (tx) => {
    await tx.insert(Application, { id: applicationId, accountId, name, slug: `blog-${applicationId}`, ...times });
    const environment = { id: environmentId, accountId, applicationId, name: type, slug: type, type, ...times };
    await tx.insert(Environment, environment);
    const branding = { name: null, logo_url: null, primary_color: null, support_email: null };
    const defaults = { environmentId, accountId, ...environmentDefaults(), branding, updatedAt: at };
    await tx.insert(EnvironmentSettings, { ...defaults, ...settings });
  });
  return {
    applicationId,
    environmentId,
    client: await place.newClient({ applicationId, environmentId }),
    join: (identityId: string, isActive = true) =>
      provider.db.transaction('system', (tx) =>
        tx.insert(EnvironmentMembership, {
          id: uuidv7(),
          accountId,
          environmentId,
          identityId,
          isActive,
          createdAt: at,
        }),
      ),
  };
}
