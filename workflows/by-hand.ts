// What the Temporal UI says of a message to whoever is about to send it by hand.

/** Of every signal. */
export const hasRowRead = { description: 'For the service itself. Sent by hand it only has the row read.' };
/** Of an update for which the service has proved who asks. */
export const createsAccount = {
  description:
    'For the service itself. Sent by hand it creates the account, although its owner has not asked for that.',
};
export const checksDomain = { description: 'Has DNS asked for the record now.' };
