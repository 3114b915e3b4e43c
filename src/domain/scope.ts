import type { AccountScope, EnvironmentScope } from '../platform/database/db.js';

export type { AccountScope, EnvironmentScope };
export interface ApplicationScope extends AccountScope {
  applicationId: string;
}
