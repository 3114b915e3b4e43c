/**
 * How many sessions, trusted browsers and applications the page of one's own account lists; the next ones appear once
 * these are ended.
 */
export const mostListed = 50;
