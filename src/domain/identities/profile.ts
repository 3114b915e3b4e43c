import type { Identity } from '../../../entities/identity.js';

/**
 * The fields of an Identity's profile, with their values where nothing is given. Creating, importing and changing go by
 * this; how each field is named and written on the wire is in src/http/operations/identity-profile.ts.
 */
export const emptyProfile = {
  firstName: null,
  lastName: null,
  avatarUrl: null,
  externalId: null,
  metadata: {},
} as const satisfies Partial<Identity>;

export type Profile = Pick<Identity, keyof typeof emptyProfile>;
/** The fields that lists show. */
export type ListedProfile = Omit<Profile, 'metadata'>;
const { metadata: _, ...listed } = emptyProfile;
export const listedFields = Object.keys(listed) as (keyof ListedProfile)[];

/** A complete profile, from the given fields. */
export function profileOf(said: Partial<Profile>): Profile {
  const fields = Object.keys(emptyProfile) as (keyof Profile)[];
  return Object.fromEntries(fields.map((field) => [field, said[field] ?? emptyProfile[field]])) as unknown as Profile;
}
