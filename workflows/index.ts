// Every workflow that the worker runs: the bundle contains the exports of this file.
export { accountIntent } from './account-intent.js';
export { emailChange } from './email-change.js';
export { emailDelivery } from './email-delivery.js';
export { environmentRemoval } from './environment-removal.js';
export { eventCounting } from './event-counting.js';
export { housekeeping } from './housekeeping.js';
export { identityErasure } from './identity-erasure.js';
export { inviteExpiry } from './invite-expiry.js';
export { mfaGrace } from './mfa-grace.js';
export { reconciler } from './reconciler.js';
export { registrationVerification } from './registration-verification.js';
export { roleAssignmentWindow } from './role-assignment-window.js';
export { signingKeyRotation } from './signing-key-rotation.js';
export { ssoDomainVerification } from './sso-domain-verification.js';
export { webhookDelivery } from './webhook-delivery.js';
