// Its tests are those of the README.
import '../readme/jest.test.js'
