import { type Static, Type } from 'typebox';
import type { MayChange } from '../../domain/access/assignments/production-people.js';
import type { Caller } from '../../domain/caller.js';
import { fullNameOf } from '../../domain/full-name.js';
import type { MemberInDetail } from '../../domain/identities/detail.js';
import type { ListedMember } from '../../domain/identities/identities.js';
import type { NewIdentity } from '../../domain/identities/new-identity.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import type { Services } from '../../services.js';
import { ById, Email, Id, Metadata, Nullable, Resource, Timestamp } from '../surfaces/schemas.js';
import { ListedProfileFields, ProfileFields, presentProfile, profileIn } from './identity-profile.js';
import { AssignedRoleView, presentAssignedRole } from './identity-rows.js';

const RowFields = {
  id: Id,
  email: Type.String(),
  ...ListedProfileFields,
  is_active: Type.Boolean(),
  created_at: Timestamp,
};
export const IdentityRow = Resource('ListedIdentity', RowFields);
export const IdentityDetail = Resource('Identity', {
  ...RowFields,
  name: Nullable(Type.String()),
  metadata: Metadata,
  email_verified: Type.Boolean(),
  roles: Type.Array(AssignedRoleView, { description: 'Held now or in the future.' }),
  can_manage: Type.Boolean({ description: 'Whether the caller holds `identity.manage`.' }),
  updated_at: Timestamp,
});

export const Address = Email;

/** The fields of an Identity that is going to be created. */
export const NewIdentityFields = {
  email: Address,
  ...ProfileFields,
  email_verified: Type.Optional(Type.Boolean({ default: false })),
  password: Type.Optional(Nullable(Type.String({ maxLength: 1024 }))),
  is_active: Type.Optional(
    Type.Boolean({
      default: true,
      description:
        'False for an identity that must not sign in yet, or is deactivated in the system that it comes from.',
    }),
  ),
  role_id: Type.Optional(Nullable(Id)),
  node_id: Type.Optional(Nullable(Type.String({ format: 'uuid', description: 'Only with `role_id`.' }))),
};
const New = Type.Object(NewIdentityFields);

export const newIdentityOf = (body: Static<typeof New>): NewIdentity => ({
  email: body.email,
  ...profileIn(body),
  emailVerified: body.email_verified ?? false,
  password: body.password ?? null,
  isActive: body.is_active ?? true,
});

export const presentRow = ({ identity, membership }: ListedMember) => ({
  id: identity.id,
  email: identity.email,
  ...presentProfile(identity),
  is_active: membership.isActive,
  created_at: identity.createdAt,
});

interface Asking {
  services: Services;
  scope: EnvironmentScope;
  caller: Caller;
}

const managing = { permissions: ['identity.manage'], capability: 'identities.manage' } as const;

const mayManage = ({ services, scope, caller }: Asking) => services.rights.holdsEverywhere(scope, caller, managing);

function presentDetail(found: MemberInDetail, canManage: boolean) {
  const { metadata, emailVerifiedAt, updatedAt } = found.identity;
  return {
    ...presentRow(found),
    name: fullNameOf(found.identity),
    metadata,
    email_verified: emailVerifiedAt !== null,
    roles: found.roles.map(presentAssignedRole),
    can_manage: canManage,
    updated_at: updatedAt,
  };
}

/**
 * Returns the `{ data }` of an Identity, for this caller.
 * @throws DomainError identity.not_found
 */
export async function detailOf(asking: Asking, id: string) {
  const found = await asking.services.identities.getInDetail(asking.scope, id);
  return { data: presentDetail(found, await mayManage(asking)) };
}

/**
 * Changes an Identity, and returns its new `{ data }`. Everything else that the answer needs is read before: once the
 * change is made, the request must not fail.
 */
export async function detailAfter(asking: Asking, change: () => Promise<MemberInDetail>) {
  const canManage = await mayManage(asking);
  return { data: presentDetail(await change(), canManage) };
}

/** For the descriptions of operations by which the caller could sign in as the person. */
export const ofThemselves =
  'End users who change this for themselves need a sign-in within the last ten minutes, with a second factor if they have one.';

/**
 * Returns the check that the caller may change this person.
 * @param takesOver whether the caller could sign in as the person after the change
 */
export const mayChange =
  ({ services, scope, caller }: Asking, id: string, { takesOver }: { takesOver: boolean }): MayChange =>
  async (on) => {
    await services.assertStaysInTest(scope, caller, id, on);
    if (takesOver) await services.assertMayTakeOver(scope, caller, id, on);
  };

/** What all operations on one Identity share. */
export const ofOne = {
  tag: 'Identities',
  level: 'environment',
  params: ById,
  exists: ({ services, scope, params }: Pick<Asking, 'services' | 'scope'> & { params: { id: string } }) =>
    services.identities.get(scope, params.id),
} as const;
export const viewing = { permission: 'identity.view', capability: 'identities.view' } as const;
export const changing = { permission: 'identity.manage', capability: 'identities.manage' } as const;
