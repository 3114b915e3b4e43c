/**
 * The first and the last of the migrations with which versions before the first release created the schema
 * (docs/decisions/0106). A database of such a version has their names, and its data stays.
 */
export const firstOfFormer = 'Tables1763700000000';
export const lastOfFormer = 'CanonicalRequests1763700000154';
