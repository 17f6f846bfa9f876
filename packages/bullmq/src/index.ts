export { locked } from './locked.js'
export type {
  ConflictOptions,
  LockByName,
  LockByObject,
  LockedOptions,
  LockedProcessor,
  OnConflict,
} from './options.js'
