import { describe } from '@jest/globals'
import { programs } from '../../../core/test/redis/support/markdown.js'
import { shipOrder42 } from '../../../core/test/redis/support/ship-order-42.js'

const pages = ['packages/redlock/README.md', 'packages/redlock/skills/move-from-redlock/SKILL.md']

describe('the README of @holdfast/redlock and its skill', () => {
  // Those of the README after the first are other forms of it.
  shipOrder42(pages.flatMap((page, i) => programs(page).slice(0, i === 0 ? 1 : undefined)))
})
