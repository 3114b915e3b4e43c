import { v7 as uuidv7 } from 'uuid';
import type { EnvironmentMembership } from '../../../entities/environment-membership.js';
import type { Identity } from '../../../entities/identity.js';
import { within } from '../../platform/database/db.js';
import type { EnvironmentScope } from '../../platform/scope.js';
import { type Profile, profileOf } from './profile.js';

export interface NewIdentity extends Partial<Profile> {
  email: string;
  emailVerified: boolean;
  password: string | null;
  /** False: inactive in the Environment from the beginning. */
  isActive?: boolean;
}

/** The row of a new Identity in the Account's directory. */
export function newIdentity(
  { accountId }: EnvironmentScope,
  input: Omit<NewIdentity, 'password'>,
  passwordHash: string | null,
  at: Date,
): Identity {
  return {
    id: uuidv7(),
    accountId,
    email: input.email,
    emailVerifiedAt: input.emailVerified ? at : null,
    verifiedByWord: input.emailVerified,
    ...profileOf(input),
    passwordHash,
    passwordChangedAt: passwordHash ? at : null,
    recoveryCodesGeneration: 0,
    mfaAdminResetAt: null,
    createdAt: at,
    updatedAt: at,
  };
}

/** The row that makes an Identity a member of an Environment. */
export const newMembership = (scope: EnvironmentScope, identityId: string, at: Date): EnvironmentMembership => ({
  ...within(scope),
  id: uuidv7(),
  identityId,
  isActive: true,
  keptOutBy: null,
  lockedUntil: null,
  createdAt: at,
});
