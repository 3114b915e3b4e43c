import { FirstRelease1763700000155 } from './1763700000155-first-release.js';
import { EmailChanges1763700000156 } from './1763700000156-email-changes.js';
import { AccountRequireSso1763700000157 } from './1763700000157-account-require-sso.js';
import { PasskeysOfAdministrators1763700000158 } from './1763700000158-passkeys-of-administrators.js';
import { KeysOfSignIns1763700000160 } from './1763700000160-keys-of-sign-ins.js';
import { KeysToAccounts1763700000162 } from './1763700000162-keys-to-accounts.js';

/** Every migration, oldest first. Listed by hand, so that the compiler sees a migration that nobody added. */
export const migrations = [
  FirstRelease1763700000155,
  EmailChanges1763700000156,
  AccountRequireSso1763700000157,
  PasskeysOfAdministrators1763700000158,
  KeysOfSignIns1763700000160,
  KeysToAccounts1763700000162,
];
