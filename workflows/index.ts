// Every workflow that the worker runs: what this file exports is what is bundled.
export { emailDelivery } from './email-delivery.js';
export { registrationVerification } from './registration-verification.js';
export { signingKeyRotation } from './signing-key-rotation.js';
