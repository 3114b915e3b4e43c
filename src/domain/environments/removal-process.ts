import type { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import type { ProcessInput } from '../../platform/process-kinds.js';

/** What the process of a removal is told. */
export const environmentRemovalInput = ({
  id,
  accountId,
  environmentId,
}: Pick<EnvironmentRemoval, 'id' | 'accountId' | 'environmentId'>): ProcessInput<'environmentRemoval'> => ({
  removalId: id,
  accountId,
  environmentId,
});
