// Apart from the workflows, so that the api can name one without loading the workflow runtime.

/** @param id of the pending registration */
export const registrationId = (id: string) => `registration/${id}`;
/** @param id of the intent */
export const accountIntentId = (id: string) => `account-intent/${id}`;
export const emailId = (id: string) => `email/${id}`;
export const signingKeyRotationId = 'signing-key-rotation';
