import type { EnvironmentScope } from '../../platform/scope.js';

/** A signed-in person, with the session. */
export interface SignedInPerson extends EnvironmentScope {
  identityId: string;
  sessionId: string;
}
