// Descriptions of signals and updates, which the Temporal UI shows to somebody who is about to send one by hand.

/** For every signal. */
export const hasRowRead = { description: 'For the service itself. Sent by hand it only has the row read.' };
/** For an update that the service sends after it has authenticated the owner. */
export const createsAccount = {
  description:
    'For the service itself. Sent by hand it creates the account, although its owner has not asked for that.',
};
export const checksDomain = { description: 'Has DNS asked for the record now.' };
