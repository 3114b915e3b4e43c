import { Type } from 'typebox';
import type { ErrorCode } from '../../domain/errors.js';
import type { ConnectionAt } from '../../domain/sso-connections/find.js';
import type { AccountScope, EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import type { Authorization } from '../operation.js';
import { Id } from '../schemas.js';
import { managed, common as ofOrganizations, viewing } from './organization-views.js';

/** Whose connections an operation is about: all have the same operations, each declared once. */
export interface ConnectionsOf {
  level: 'environment' | 'account';
  tag: string;
  /** Goes before `SsoConnection` in the operations' names. */
  prefix: '' | 'Admin' | 'Organization';
  /** In sentences: "of the environment". */
  owner: string;
  /** Where one of them is, below the surface's prefix. */
  path: string;
  at(scope: AccountScope | EnvironmentScope, id: string): ConnectionAt;
  viewing: Authorization & { inPart?: true };
  changing: Authorization & { inPart?: true };
  /** What may not be there, and what is refused to whom it does not belong to. */
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

/** What operations on one connection have alike; its 404 comes before the 400 of what is wrong with the rest. */
export const ofOne = ({ level, tag, at }: ConnectionsOf) => ({
  level,
  tag,
  params: Type.Object({ id: Id }),
  exists: ({ services, scope, params }: { services: Services; scope: AccountScope; params: { id: string } }) =>
    services.ssoConnections.get(at(scope, params.id)),
});
