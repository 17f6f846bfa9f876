export { afterEach, expect, jest as vi, test } from '@jest/globals'
