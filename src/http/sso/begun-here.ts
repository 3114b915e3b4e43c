type Parameters = Record<string, string>;

const mark = 'begun';

/**
 * What goes on after a provider, of a sign-in that a page of ours or of the administrators' has begun: its person has asked for it. A link can
 * lead any browser to any provider, also to one that answers by itself, and as whoever has made the link.
 */
export const begunHere = (parameters: Parameters): Parameters => ({ ...parameters, [mark]: 'here' });

export const isBegunHere = ({ [mark]: begun }: Parameters): boolean => begun !== undefined;

/** As they came. */
export const withoutMark = ({ [mark]: _, ...parameters }: Parameters): Parameters => parameters;
