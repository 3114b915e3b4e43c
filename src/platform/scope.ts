/** To which tenant something belongs: an Account and, for what belongs to an Environment, that one. */
export interface AccountScope {
  accountId: string;
  environmentId?: string;
}
export interface ApplicationScope extends AccountScope {
  applicationId: string;
}
export interface EnvironmentScope extends ApplicationScope {
  environmentId: string;
}

/** Returns only the Account, and the Environment if there is one, of something that belongs to either, such as a row. */
export const tenantOf = ({
  accountId,
  environmentId,
}: {
  accountId: string;
  environmentId?: string | null | undefined;
}): AccountScope => (environmentId == null ? { accountId } : { accountId, environmentId });

/** Returns only the scope of something that has these ids among other properties, such as a client or a row. */
export const environmentScopeOf = ({
  accountId,
  applicationId,
  environmentId,
}: EnvironmentScope): EnvironmentScope => ({
  accountId,
  applicationId,
  environmentId,
});
