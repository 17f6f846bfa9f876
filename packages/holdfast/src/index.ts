export * from '@holdfast/core'
