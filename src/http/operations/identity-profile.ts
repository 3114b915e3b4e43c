import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import type { ListedProfile, Profile } from '../../domain/identities/profile.js';
import type { SnakeCased } from '../../platform/database/naming.js';
import { Name, Nullable, SentMetadata, WebUrl } from '../surfaces/schemas.js';

/**
 * An Identity's profile in the API: the schema of each field in requests and in answers, and the domain's field for it.
 * Creating, importing, changing and showing use these, and the compiler demands every field of the domain's profile.
 */

type Named<P, Value> = Record<keyof SnakeCased<P>, Value>;

/** The fields in requests: null removes a value; an absent field stays as it is, or is empty in a new Identity. */
export const ProfileFields = {
  first_name: Type.Optional(Nullable(Name)),
  last_name: Type.Optional(Nullable(Name)),
  avatar_url: Type.Optional(Nullable(WebUrl)),
  external_id: Type.Optional(Nullable(Type.String({ minLength: 1, maxLength: 255 }))),
  metadata: Type.Optional(SentMetadata),
} satisfies Named<Profile, TSchema> & TProperties;
const Written = Type.Object(ProfileFields);

/** Returns the profile in a body: an absent field is undefined, a removed one null. */
export const profileIn = (body: Static<typeof Written>): Partial<Profile> =>
  ({
    firstName: trimmed(body.first_name),
    lastName: trimmed(body.last_name),
    avatarUrl: body.avatar_url,
    externalId: body.external_id,
    metadata: body.metadata,
  }) satisfies Record<keyof Profile, unknown>;

/** The fields that lists show. */
export const ListedProfileFields = {
  first_name: Nullable(Type.String()),
  last_name: Nullable(Type.String()),
  avatar_url: Nullable(Type.String()),
  external_id: Nullable(Type.String()),
} satisfies Named<ListedProfile, TSchema>;

export const presentProfile = ({ firstName, lastName, avatarUrl, externalId }: ListedProfile) =>
  ({
    first_name: firstName,
    last_name: lastName,
    avatar_url: avatarUrl,
    external_id: externalId,
  }) satisfies Named<ListedProfile, unknown>;

const trimmed = (text: string | null | undefined) => (text == null ? text : text.trim());
