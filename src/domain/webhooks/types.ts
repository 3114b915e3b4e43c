import { type EventAction, eventCatalogue, isDomainEvent } from '../events/catalogue.js';

/** What happens to an Account and not inside one of its Environments: for its administrators only. */
const ofAccount = /^(account|administrator_invite|administrator_role|application|environment|member)\./;

/** Every type that a subscription of an Account can name; of an Environment, those that are not the Account's alone. */
export const accountEventTypes = Object.keys(eventCatalogue).filter(isDomainEvent).sort();
export const accountOnlyEventTypes: readonly EventAction[] = accountEventTypes.filter((type) => ofAccount.test(type));
export const environmentEventTypes: readonly EventAction[] = accountEventTypes.filter((type) => !ofAccount.test(type));
