import type { ErrorCode } from '../../domain/errors.js';
import type { ConnectionAt } from '../../domain/sso-connections/find.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import type { Authorization } from '../surfaces/operation.js';
import { ById } from '../surfaces/schemas.js';
import { managed, common as ofOrganizations, viewing } from './organization-views.js';

/** The owner of the connections that an operation is about: all have the same operations, each declared once. */
export interface ConnectionsOf {
  level: 'environment' | 'account';
  tag: string;
  /** Precedes `SsoConnection` in the operations' names. */
  prefix: '' | 'Admin' | 'Organization';
  /** For sentences, as in "of the environment". */
  owner: string;
  /** The path of one connection, below the surface's prefix. */
  path: string;
  at(scope: AccountScope | EnvironmentScope, id: string): ConnectionAt;
  viewing: Authorization & { inPart?: true };
  changing: Authorization & { inPart?: true };
  /** The codes if something in the path does not exist, and if the caller may not. */
  missing: readonly ErrorCode[];
  refused: readonly ErrorCode[];
}

export const ofOrganization: ConnectionsOf = {
  level: 'environment',
  tag: ofOrganizations.tag,
  prefix: 'Organization',
  owner: 'organization',
  path: '/organizations/:id/sso-connection',
  at: (scope, organizationId) => ({ scope: scope as EnvironmentScope, organizationId }),
  viewing: { ...managed, inPart: true, capability: viewing.capability },
  changing: { ...managed, inPart: true },
  missing: ['organization.not_found', 'sso_connection.not_found'],
  refused: ['organization.sso_connection_not_owned'],
};
const byId = (scope: AccountScope | EnvironmentScope, id: string): ConnectionAt => ({ scope, id });
const ofTeam = {
  tag: 'SSO connections',
  at: byId,
  viewing: { capability: 'sso.view' },
  changing: { capability: 'sso.manage' },
  missing: ['sso_connection.not_found'],
  refused: [],
} as const;
export const ofEnvironment: ConnectionsOf = {
  ...ofTeam,
  level: 'environment',
  prefix: '',
  owner: 'environment',
  path: '/sso-connections/:id',
};
export const ofAccount: ConnectionsOf = {
  ...ofTeam,
  level: 'account',
  prefix: 'Admin',
  owner: 'account',
  path: '/sso/connections/:id',
};

/** What all operations on one connection share; its 404 comes before the 400 for the rest of the request. */
export const ofOne = ({ level, tag, at }: ConnectionsOf) => ({
  level,
  tag,
  params: ById,
  exists: ({ services, scope, params }: { services: Services; scope: AccountScope; params: { id: string } }) =>
    services.ssoConnections.get(at(scope, params.id)),
});
