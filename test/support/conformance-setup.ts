import { takeViolations } from './violations.js';

/** Runs after each test: fails if an answer deviated from the OpenAPI document. */
function assertConformance(): void {
  const found = takeViolations();
  if (found.length > 0) throw new Error(`The OpenAPI document says otherwise:\n${found.join('\n')}`);
}

afterEach(assertConformance);
afterAll(assertConformance);
