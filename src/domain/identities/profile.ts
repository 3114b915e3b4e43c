import type { Identity } from '../../../entities/identity.js';

/**
 * What an Identity's profile consists of, and what stands where nothing was said. Creating, importing and changing go by this;
 * how each field is called and written on the wire is in src/http/operations/identity-profile.ts.
 */
export const emptyProfile = {
  firstName: null,
  lastName: null,
  avatarUrl: null,
  externalId: null,
  metadata: {},
} as const satisfies Partial<Identity>;

export type Profile = Pick<Identity, keyof typeof emptyProfile>;
/** What lists show of it. */
export type ListedProfile = Omit<Profile, 'metadata'>;
const { metadata: _, ...listed } = emptyProfile;
export const listedFields = Object.keys(listed) as (keyof ListedProfile)[];

/** A whole profile out of what was said of it. */
export function profileOf(said: Partial<Profile>): Profile {
  const fields = Object.keys(emptyProfile) as (keyof Profile)[];
  return Object.fromEntries(fields.map((field) => [field, said[field] ?? emptyProfile[field]])) as unknown as Profile;
}
