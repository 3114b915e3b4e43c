/** Whether two addresses are one: their case says nothing. */
export const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** Returns the domain of an address, in lower case. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1).toLowerCase();
