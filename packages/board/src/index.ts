export { createBoard } from './board.js'
export type { Board, NodeRequest, NodeResponse } from './board.js'
export type { BoardAction, BoardLogEntry, BoardOptions, BoardPermission } from './options.js'
