type Parameters = Record<string, string>;

const mark = 'begun';

/**
 * Marks the parameters of a sign-in that a page of ours or of the administrators' application has begun: its person has
 * asked for it. A link can lead any browser to any provider, including one that answers by itself, and as the person
 * who made the link.
 */
export const begunHere = (parameters: Parameters): Parameters => ({ ...parameters, [mark]: 'here' });

export const isBegunHere = ({ [mark]: begun }: Parameters): boolean => begun !== undefined;

/** Returns the parameters as they came. */
export const withoutMark = ({ [mark]: _, ...parameters }: Parameters): Parameters => parameters;
