/** The system's own permissions: what the Public API asks for, and what an API key's scopes can name. */
export const systemPermissions = {
  'identity.view': 'View identities',
  'identity.manage': 'Manage identities',
  'hierarchy.view': 'View the hierarchy',
  'hierarchy.manage': 'Manage the hierarchy',
  'svc:organization.manage': 'Manage organizations',
  'rbac.view_roles': 'View roles and permissions',
  'rbac.manage_roles': 'Manage roles and permissions',
  'rbac.assign_roles': 'Assign roles',
  'authorization.evaluate': 'Ask for decisions',
  'api_key.view': 'View API keys',
  'api_key.manage': 'Manage API keys',
  'webhook.view': 'View webhooks',
  'webhook.manage': 'Manage webhooks',
  'audit.view': 'View the audit log',
  'changes.read': 'Read the change feed',
} as const;

export type Permission = keyof typeof systemPermissions;
export const permissions = Object.keys(systemPermissions) as Permission[];

export interface SystemRole {
  name: string;
  description: string;
  permissions: readonly Permission[];
}

/** The roles that every Environment has; nobody can change them. */
export const systemRoles: Record<'administrator' | 'organization_manager' | 'viewer', SystemRole> = {
  administrator: { name: 'Administrator', description: 'Everything in the service itself.', permissions },
  organization_manager: {
    name: 'Organization manager',
    description: 'Members, roles and settings of an organization, where it is held at one.',
    permissions: ['identity.view', 'hierarchy.view', 'svc:organization.manage', 'rbac.view_roles', 'rbac.assign_roles'],
  },
  viewer: {
    name: 'Viewer',
    description: 'Reads everything, changes nothing.',
    permissions: permissions.filter((permission) => /\.view(_roles)?$/.test(permission)),
  },
};

/** Whether a key is reserved for the service, which may add it in a later release: no application can register it. */
export const isReservedKey = (key: string): boolean => key.startsWith('svc:');

/** Returns the category of a permission for which none is given: its key up to the first dot. */
export const categoryOf = (key: string): string => key.slice(0, key.indexOf('.'));
