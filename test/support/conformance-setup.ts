import { takeViolations } from './violations.js';

/** After each test: nothing was answered that the OpenAPI document does not say. */
function assertConformance(): void {
  const found = takeViolations();
  if (found.length > 0) throw new Error(`The OpenAPI document says otherwise:\n${found.join('\n')}`);
}

afterEach(assertConformance);
afterAll(assertConformance);
