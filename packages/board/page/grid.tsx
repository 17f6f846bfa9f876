import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Row, Sorting } from './rows.js'

export interface Column<K extends string> {
  readonly key: K
  readonly title: string
  /** As CSS grid takes it. */
  readonly width: string
  cell(row: Row): ComponentChildren
}

interface Props<K extends string> {
  readonly label: string
  readonly columns: readonly Column<K>[]
  readonly rows: readonly Row[]
  readonly sorting: Sorting
  readonly onSort: (key: K) => void
  readonly onOpen: (row: Row) => void
  readonly empty: string
}

const ROW_PX = 34
const HEAD_PX = 34
/** Rows beyond the edges, for a scroll that is faster than the next frame. */
const SPARE_ROWS = 8

const STEPS: Record<string, (page: number, last: number) => (index: number) => number> = {
  ArrowDown: () => (index) => index + 1,
  ArrowUp: () => (index) => index - 1,
  PageDown: (page) => (index) => index + page,
  PageUp: (page) => (index) => index - page,
  Home: () => () => 0,
  End: (_, last) => () => last,
}

/**
 * A table of any number of rows, of which only those in sight are elements. One stop of the Tab key, arrows within; a
 * screen reader is told which of how many rows each is.
 */
export function Grid<K extends string>({ label, columns, rows, sorting, onSort, onOpen, empty }: Props<K>) {
  const viewport = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [activeId, setActiveId] = useState<number | null>(null)
  useLayoutEffect(() => {
    const element = viewport.current
    if (!element) {
      return undefined
    }
    const observer = new ResizeObserver(() => setHeight(element.clientHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const first = Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS)
  const inSight = rows.slice(first, Math.ceil((top + height) / ROW_PX) + SPARE_ROWS)
  const active = rows.findIndex(({ id }) => id === activeId)
  const template = columns.map(({ width }) => width).join(' ')

  const moveTo = (index: number): void => {
    const to = Math.min(Math.max(0, index), rows.length - 1)
    const row = rows[to]
    const element = viewport.current
    if (!row || !element) {
      return
    }
    setActiveId(row.id)
    // The head lies over the first row in sight.
    const inSightPx = element.clientHeight - HEAD_PX
    if (to * ROW_PX < element.scrollTop) {
      element.scrollTop = to * ROW_PX
    } else if ((to + 1) * ROW_PX > element.scrollTop + inSightPx) {
      element.scrollTop = (to + 1) * ROW_PX - inSightPx
    }
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const row = rows[active]
    if (event.key === 'Enter' && row) {
      onOpen(row)
      return
    }
    const step = STEPS[event.key]?.(Math.max(1, Math.floor(height / ROW_PX) - 1), rows.length - 1)
    if (step && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault()
      moveTo(step(active))
    }
  }
  return (
    <div
      class="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length}
      aria-activedescendant={
        active >= first && active < first + inSight.length ? `row-${rows[active]?.id}` : undefined
      }
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <div
        class="viewport"
        role="presentation"
        ref={viewport}
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <div class="head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
          {columns.map(({ key, title }) => (
            <div
              key={key}
              role="columnheader"
              aria-sort={sorting.key === key ? (sorting.isDown ? 'descending' : 'ascending') : 'none'}
            >
              <button type="button" onClick={() => onSort(key)}>
                {title}
                <span aria-hidden="true">{sorting.key === key ? (sorting.isDown ? ' ▼' : ' ▲') : ''}</span>
              </button>
            </div>
          ))}
        </div>
        {rows.length === 0 && <p class="empty">{empty}</p>}
        <div class="sizer" role="rowgroup" style={{ height: `${rows.length * ROW_PX}px` }}>
          {inSight.map((row, i) => (
            <div
              key={row.id}
              id={`row-${row.id}`}
              class={row.id === activeId ? 'row active' : 'row'}
              role="row"
              aria-rowindex={first + i + 2}
              aria-selected={row.id === activeId}
              style={{ gridTemplateColumns: template, transform: `translateY(${(first + i) * ROW_PX}px)` }}
              onClick={() => setActiveId(row.id)}
              onDblClick={() => onOpen(row)}
            >
              {columns.map(({ key, cell }) => (
                <div key={key} role="gridcell" class={`cell of-${key}`}>
                  {cell(row)}
                </div>
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  )
}
