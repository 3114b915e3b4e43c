import { User } from '../entities/user.js';
import { provisionAccount } from '../src/domain/accounts/provisioning.js';
import type { Db } from '../src/platform/database/db.js';
import type { EnvironmentScope } from '../src/platform/scope.js';

/** Creates another Account of the demo's administrator. @returns its production Environment */
export const newNeighbour = (db: Db): Promise<EnvironmentScope> =>
  db.transaction('system', async (tx) => {
    const [user] = await tx.find(User, { take: 1 });
    const names = { accountName: 'Neighbour', applicationName: 'Shop' };
    const made = await provisionAccount(tx, { userId: (user as User).id, ...names, now: new Date() });
    const { account, application, environments } = made;
    return { accountId: account.id, applicationId: application.id, environmentId: environments.production.id };
  });
