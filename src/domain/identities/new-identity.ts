import { v7 as uuidv7 } from 'uuid';
import type { Identity } from '../../../entities/identity.js';
import type { EnvironmentScope } from '../../platform/db.js';
import type { NewIdentity } from './identities.js';
import { profileOf } from './profile.js';

/** The row of somebody new in the Account's directory. */
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
    ...profileOf(input),
    passwordHash,
    passwordChangedAt: passwordHash ? at : null,
    recoveryCodesGeneration: 0,
    mfaAdminResetAt: null,
    createdAt: at,
    updatedAt: at,
  };
}
