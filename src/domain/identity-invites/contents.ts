import type { EntityManager } from 'typeorm';
import { Account } from '../../../entities/account.js';
import { EnvironmentSettings } from '../../../entities/environment-settings.js';
import { Identity } from '../../../entities/identity.js';
import type { IdentityInvite } from '../../../entities/identity-invite.js';
import { Node } from '../../../entities/node.js';
import { User } from '../../../entities/user.js';
import { applicationNameOf } from '../emails/brand.js';
import { DomainError } from '../errors.js';
import { fullNameOf } from '../full-name.js';

/** What pages and mails show of an invite. */
export interface InviteContents {
  accountName: string;
  applicationName: string;
  environmentName: string;
  organizationName: string | null;
  /** The name of the place that the invite leads into. */
  placeName: string;
  /** The name of the person who invites, or else that of the Account, or of the Application for its directory. */
  inviter: string;
  settings: EnvironmentSettings;
}

/** Returns them. @throws DomainError invite.link_invalid if the organization was deleted */
export async function contentsOf(tx: EntityManager, invite: IdentityInvite): Promise<InviteContents> {
  const { accountId, environmentId, organizationId, intent } = invite;
  const { name: accountName } = await tx.findOneByOrFail(Account, { id: accountId });
  const settings = await tx.findOneByOrFail(EnvironmentSettings, { environmentId });
  const applicationName = await applicationNameOf(tx, environmentId);
  const [environment] = await tx.query<{ name: string }[]>('select name from environments where id = $1', [
    environmentId,
  ]);
  const organization = organizationId && (await tx.findOneBy(Node, { accountId, environmentId, id: organizationId }));
  if (intent === 'organization' && !organization) throw new DomainError('invite.link_invalid');
  const organizationName = organization ? organization.name : null;
  const places = { activate: applicationName, directory: accountName, organization: organizationName ?? '' };
  return {
    accountName,
    applicationName,
    environmentName: environment?.name ?? '',
    organizationName,
    placeName: places[intent],
    inviter: (await nameOf(tx, invite)) ?? (intent === 'directory' ? applicationName : accountName),
    settings,
  };
}

/** Returns the name of the person who invites; null for an API key, a deleted person, or one without a name. */
async function nameOf(tx: EntityManager, { accountId, invitedByType, invitedBy: id }: IdentityInvite) {
  if (invitedByType === 'api_key') return null;
  const person =
    invitedByType === 'identity' ? await tx.findOneBy(Identity, { accountId, id }) : await tx.findOneBy(User, { id });
  return person && fullNameOf(person);
}
