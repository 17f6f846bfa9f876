// Its test is that of the README; `vitest` stands for what Jest has under the same names (jest.config.js).
import '../readme/vitest.test.mjs'
