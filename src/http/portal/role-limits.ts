import { Type } from 'typebox';
import { Id, Nullable } from '../surfaces/schemas.js';

const Ids = Type.Array(Id, {
  maxItems: 1000,
  description: 'A set: returned sorted, not in the order in which it was sent.',
});
const LimitsView = Type.Object({ application_ids: Ids, environment_ids: Ids, node_ids: Ids });

/** Where a role applies, in answers. */
export const Limits = Nullable(LimitsView);

/** Where a role is to apply, in requests. Absent lists are empty. */
export const WantedLimits = Nullable(
  Type.Partial(LimitsView, {
    additionalProperties: false,
    description:
      'Null: everywhere in the account. Otherwise only in these applications (with all their environments), environments, ' +
      'and nodes (with everything below them). At least one must be named.',
  }),
);
