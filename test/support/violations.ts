/** How answers deviated from the OpenAPI document; `conformance-setup.ts` fails the test that caused it. */
export const violations: string[] = [];
export const takeViolations = (): string[] => [...new Set(violations.splice(0))];
