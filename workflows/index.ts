// Every workflow that the worker runs: what this file exports is what is bundled.
export { accountIntent } from './account-intent.js';
export { emailDelivery } from './email-delivery.js';
export { inviteExpiry } from './invite-expiry.js';
export { registrationVerification } from './registration-verification.js';
export { signingKeyRotation } from './signing-key-rotation.js';
