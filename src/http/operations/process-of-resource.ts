import { Type } from 'typebox';
import type { ProcessStatus } from '../../domain/processes/account-processes.js';
import { verbs } from '../../domain/processes/kind.js';
import { states } from '../../domain/processes/kinds.js';
import type { Services } from '../../services.js';
import { Growing, Id, Nullable, OneOf, Resource } from '../surfaces/schemas.js';

/** What presenters of resources with a process need. */
export type Presenting = Pick<Services, 'accountProcesses'>;

/** What a resource shows about its process; the rest is under `/processes/{id}`. */
export const ProcessOfResource = Resource(
  'ProcessOfResource',
  {
    id: Id,
    state: Growing(states),
    next_wake_up: Nullable(Type.String({ format: 'date-time' })),
    verbs: Type.Array(OneOf(verbs)),
  },
  {
    description:
      'Its state, when it continues by itself, and what can be done with it through `/processes/{id}` of the Portal, which ' +
      'has the details.',
  },
);

export const presentProcess = ({ id, state, nextWakeUp, verbs }: ProcessStatus) => ({
  id,
  state,
  next_wake_up: nextWakeUp,
  verbs,
});
