/**
 * How many sessions, trusted browsers and applications a person's account page lists; further ones appear after these
 * are ended.
 */
export const accountPageLimit = 50;
