/** Where something of a tenant is: in an Account, and where it lives in an Environment, in that. */
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

/** The scope of what carries these ids among others, such as a client or a row, and nothing else of it. */
export const environmentScopeOf = ({
  accountId,
  applicationId,
  environmentId,
}: EnvironmentScope): EnvironmentScope => ({
  accountId,
  applicationId,
  environmentId,
});
