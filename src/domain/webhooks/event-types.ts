import { type EventAction, eventCatalogue, isDomainEvent } from '../events/catalogue.js';

/** Events of an Account itself and not of one of its Environments: for its administrators only. */
const ofAccount = /^(account|administrator_invite|administrator_role|application|environment|member)\./;

/** The types that a subscription of an Account can name: its own, and those that one of an Environment can name. */
export const accountEventTypes = Object.keys(eventCatalogue).filter(isDomainEvent).sort();
export const accountOnlyEventTypes: readonly EventAction[] = accountEventTypes.filter((type) => ofAccount.test(type));
export const environmentEventTypes: readonly EventAction[] = accountEventTypes.filter((type) => !ofAccount.test(type));
