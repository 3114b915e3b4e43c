import type { AdministratorRoleKey } from '../../../entities/administrator-role.js';

/** What administrators can be allowed to do in an Account. Each Portal operation names one. */
export const capabilities = [
  'account.view',
  'account.manage',
  'members.view',
  'members.manage',
  'applications.view',
  'applications.manage',
  'env_settings.view',
  'env_settings.manage',
  'env_structure.view',
  'env_structure.manage',
  'env_permissions.view',
  'env_permissions.manage',
  'env_roles.view',
  'env_roles.manage',
  'env_api_keys.view',
  'env_api_keys.manage',
  'env_webhooks.view',
  'env_webhooks.manage',
  'env_organizations.view',
  'env_organizations.manage',
  'oauth_clients.view',
  'oauth_clients.manage',
  'identities.view',
  'identities.manage',
  'audit.view',
  'sso.view',
  'sso.manage',
  'scim.view',
  'scim.manage',
  'account_webhooks.view',
  'account_webhooks.manage',
  'processes.view',
  'processes.manage',
] as const;

export type Capability = (typeof capabilities)[number];

/** The part before the dot: `applications`, `env_structure`, …. */
type Area<C = Capability> = C extends `${infer A}.${string}` ? A : never;

export interface BuiltInRole {
  name: string;
  description: string;
  capabilities: readonly Capability[];
}

const where = (keep: (capability: Capability) => boolean): Capability[] => capabilities.filter(keep);
const areaOf = (capability: Capability) => capability.slice(0, capability.indexOf('.')) as Area;
const isView = (capability: Capability) => capability.endsWith('.view');
const among = (...areas: Area[]) => {
  const named = new Set(areas);
  return (capability: Capability) => named.has(areaOf(capability));
};

const built = among('applications', 'oauth_clients');
const readByDevelopers = among('identities', 'audit', 'sso', 'scim', 'account_webhooks', 'processes');
const supported = among('identities', 'processes');
const readBySupport = among(
  'applications',
  'env_structure',
  'env_organizations',
  'env_webhooks',
  'account_webhooks',
  'audit',
  'sso',
);

/** The roles that every Account has (contract §10). Their capabilities are code, so that a release can add some. */
export const builtInRoles: Record<AdministratorRoleKey, BuiltInRole> = {
  owner: {
    name: 'Owner',
    description: 'Everything, including the account itself. Every account keeps at least one.',
    capabilities,
  },
  admin: {
    name: 'Admin',
    description: 'Everything but changing the account itself.',
    capabilities: where((capability) => capability !== 'account.manage'),
  },
  developer: {
    name: 'Developer',
    description: 'Applications, their environments and OAuth clients; reads what surrounds them.',
    capabilities: where((c) => built(c) || c.startsWith('env_') || (isView(c) && readByDevelopers(c))),
  },
  support: {
    name: 'Support',
    description: 'Identities and waiting processes; reads what is needed to help.',
    capabilities: where((c) => supported(c) || (isView(c) && readBySupport(c))),
  },
  viewer: {
    name: 'Viewer',
    description: 'Reads everything, changes nothing.',
    capabilities: where(isView),
  },
};

/** Returns what several roles allow together, in the catalogue's order. An unknown stored name allows nothing. */
export function capabilitiesOf(
  roles: readonly { systemKey: AdministratorRoleKey | null; capabilities: readonly string[] }[],
): Capability[] {
  const held = new Set<string>(
    roles.flatMap((role) => (role.systemKey ? builtInRoles[role.systemKey].capabilities : role.capabilities)),
  );
  return capabilities.filter((capability) => held.has(capability));
}
