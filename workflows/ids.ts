// Separate from the workflows, so that the api can name one without loading the workflow runtime.

/** @param id of the pending registration */
export const registrationId = (id: string) => `registration/${id}`;
/** @param id of the intent */
export const accountIntentId = (id: string) => `account-intent/${id}`;
/** @param id of the invite, of any kind */
export const inviteId = (id: string) => `invite/${id}`;
/** @param id of the change */
export const emailChangeId = (id: string) => `email-change/${id}`;
export const emailId = (id: string) => `email/${id}`;
/** @param id of the removal, not of the environment */
export const environmentRemovalId = (id: string) => `environment-removal/${id}`;
export const mfaGraceId = (environmentId: string, identityId: string) => `mfa-grace/${environmentId}/${identityId}`;
export const roleAssignmentWindowId = (assignmentId: string) => `role-assignment/${assignmentId}`;
/** @param id of the claim */
export const ssoDomainId = (id: string) => `sso-domain/${id}`;
/** @param id of the erasure, not of the identity */
export const identityErasureId = (id: string) => `identity-erasure/${id}`;
export const eventCountingId = 'event-counting';
export const housekeepingId = 'housekeeping';
export const reconcilerId = 'reconciler';
export const signingKeyRotationId = 'signing-key-rotation';
export const webhookDeliveryId = (id: string) => `webhook-delivery/${id}`;
