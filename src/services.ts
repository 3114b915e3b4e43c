import type { Accounts } from './domain/accounts/account.js';
import type { AccountMembers } from './domain/accounts/members.js';
import type { AdministratorRoles } from './domain/accounts/roles.js';
import type { ApiKeyManagement } from './domain/api-keys/api-keys.js';
import type { Applications } from './domain/applications/applications.js';
import type { Environments } from './domain/environments/environments.js';
import type { EnvironmentSettingsService } from './domain/environments/settings.js';
import type { IdempotentRequests } from './domain/idempotency.js';
import type { Identities } from './domain/identities/identities.js';
import type { AdministratorInvites } from './domain/invites/administrator-invites.js';
import type { ClientManagement } from './domain/oidc/client-management.js';
import type { AccountProcesses } from './domain/processes/account-processes.js';
import type { ApplicationStates } from './domain/users/application-state.js';
import type { Db } from './platform/db.js';

/** What the handlers of operations are given; `compose.ts` builds it. */
export interface Services {
  db: Db;
  accountMembers: AccountMembers;
  accountProcesses: AccountProcesses;
  accounts: Accounts;
  administratorInvites: AdministratorInvites;
  administratorRoles: AdministratorRoles;
  apiKeyManagement: ApiKeyManagement;
  applicationStates: ApplicationStates;
  applications: Applications;
  clientManagement: ClientManagement;
  environmentSettings: EnvironmentSettingsService;
  environments: Environments;
  idempotentRequests: IdempotentRequests;
  identities: Identities;
}
