export { locked } from './locked.js'
export type { LockByName, LockByObject, LockedOptions, LockedProcessor, OnConflict } from './options.js'
