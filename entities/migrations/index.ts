import { FirstRelease1763700000155 } from './1763700000155-first-release.js';
import { FromFormer1763700000156 } from './1763700000156-from-former.js';
import { PasskeysAfterAPassword1763700000157 } from './1763700000157-passkeys-after-a-password.js';
import { BackChannelLogout1763700000158 } from './1763700000158-back-channel-logout.js';
import { OwnAddresses1763700000159 } from './1763700000159-own-addresses.js';
import { PublicClientsRotate1763700000160 } from './1763700000160-public-clients-rotate.js';
import { OverlappingClientSecrets1763700000161 } from './1763700000161-overlapping-client-secrets.js';
import { WhereLogoutResponsesGo1763700000162 } from './1763700000162-where-logout-responses-go.js';

/** Every migration, oldest first. Listed by hand, so that the compiler sees a migration that nobody added. */
export const migrations = [
  FirstRelease1763700000155,
  FromFormer1763700000156,
  PasskeysAfterAPassword1763700000157,
  BackChannelLogout1763700000158,
  OwnAddresses1763700000159,
  PublicClientsRotate1763700000160,
  OverlappingClientSecrets1763700000161,
  WhereLogoutResponsesGo1763700000162,
];
