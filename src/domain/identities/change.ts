import type { EntityManager } from 'typeorm';
import { Identity } from '../../../entities/identity.js';
import { inSnakeCase } from '../../platform/database/naming.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { isSame } from '../changed-fields.js';
import { recordOfIdentity } from '../events/identity-events.js';
import { endFormerAddress } from '../one-time/former-address.js';
import { voidIdentityLinks } from '../one-time/identity-links.js';
import { lockMember } from './find.js';
import { assertMetadata } from './metadata.js';
import type { Profile } from './profile.js';

/** The wanted changes; undefined values stay as they are. */
export type IdentityChanges = Partial<Profile> & {
  email?: string | undefined;
  /** By default a new address is unverified, and the same one as it was. */
  emailVerified?: boolean | undefined;
  /** Whether the owner of the address's domain has verified it, which is more than an assertion. */
  isVouchedFor?: boolean;
};

/**
 * Changes an Identity, for all Environments of its Account; in a transaction of the Account. Mailed links and codes for
 * its former address become void: that mailbox now belongs to somebody else.
 * @throws DomainError identity.not_found, validation.failed, and what `asTaken` translates
 */
export async function changeIdentity(
  tx: EntityManager,
  scope: EnvironmentScope,
  id: string,
  { emailVerified, isVouchedFor = false, ...wanted }: IdentityChanges,
  at: Date,
): Promise<void> {
  if (wanted.metadata) assertMetadata(wanted.metadata);
  const { accountId } = scope;
  const { identity } = await lockMember(tx, scope, id);
  const changed = Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) => value !== undefined && !isSame(value, identity[name as keyof Identity]),
    ),
  ) as Partial<Identity>;
  const moves = changed.email !== undefined && changed.email.toLowerCase() !== identity.email.toLowerCase();
  const wasVerified = identity.emailVerifiedAt !== null;
  const isVerified = emailVerified ?? (wasVerified && !moves);
  if (isVerified !== wasVerified) changed.emailVerifiedAt = isVerified ? at : null;
  const fields = Object.keys(changed);
  if (fields.length === 0) return;
  const isVerifiedAnew = isVerified && (moves || !wasVerified);
  if (isVerifiedAnew) changed.emailVerifiedAt = at; // also if the former address was verified: then it is no change
  const said = changed.emailVerifiedAt && !isVouchedFor ? { verifiedByWord: true } : {};
  await tx.update(Identity, { accountId, id }, { ...changed, ...said, updatedAt: at });
  if (moves) await endFormerAddress(tx, { accountId, identityId: id }, at);
  // Those that the confirmation had made void would be valid again, with the passwords of whoever had signed up.
  else if (wasVerified && !isVerified) await voidIdentityLinks(tx, id);
  await recordOfIdentity(tx, scope, { identityId: id }, [
    { action: 'identity.updated', metadata: { changed: fields.map(nameOf) } },
    ...(isVerifiedAnew ? [{ action: 'identity.email_verified' as const, metadata: { method: 'administrator' } }] : []),
  ]);
}

const nameOf = (field: string) => (field === 'emailVerifiedAt' ? 'email_verified' : inSnakeCase(field));
