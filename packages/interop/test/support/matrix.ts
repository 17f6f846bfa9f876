/** The measure of each cell of the matrix, to be printed as one table. */
export class Matrix {
  private readonly cells = new Map<string, Map<string, string>>()
  private readonly columns = new Set<string>()

  constructor(private readonly title: string) {}

  note(row: string, column: string, cell: string): void {
    this.columns.add(column)
    const cells = this.cells.get(row) ?? new Map<string, string>()
    this.cells.set(row, cells.set(column, cell))
  }

  get isEmpty(): boolean {
    return this.cells.size === 0
  }

  print(): void {
    const columns = [...this.columns]
    const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
    const rows = [...this.cells].map(([row, cells]) =>
      line([row, ...columns.map((column) => cells.get(column) ?? '')]),
    )
    const head = [line([this.title, ...columns]), line(['---', ...columns.map(() => '---')])]
    process.stderr.write(`\n${[...head, ...rows].join('\n')}\n`)
  }
}
