import type { EnvironmentRemoval } from '../../../entities/environment-removal.js';
import type { ProcessInput } from '../../platform/process-kinds.js';

/** Returns the input of a removal's process. */
export const environmentRemovalInput = ({
  id,
  accountId,
  environmentId,
}: Pick<EnvironmentRemoval, 'id' | 'accountId' | 'environmentId'>): ProcessInput<'environmentRemoval'> => ({
  removalId: id,
  accountId,
  environmentId,
});
