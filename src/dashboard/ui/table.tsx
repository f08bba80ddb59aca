// Owns tables. On a narrow page each row stands as a block, with the column's name before each value.
import './form-look.ts';
import type { ComponentChildren, JSX } from 'preact';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Figures and times stand at the end. */
  readonly end?: boolean;
  /** Not broken into lines where the table is wide. */
  readonly inOneLine?: boolean;
}

const lookOf = ({ end, inOneLine }: Pick<Column<never>, 'end' | 'inOneLine'>): string | undefined =>
  end === true ? 'end' : inOneLine === true ? 'in-one-line' : undefined;

export interface TableProps<Row> {
  /** What it is a table of; read out, and shown where nothing else says it. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Shown in the place of rows. */
  readonly empty?: ComponentChildren;
}

export function Table<Row>({ caption, columns, rows, rowKey, empty }: TableProps<Row>): JSX.Element {
  if (rows.length === 0 && empty !== undefined) return <p class="empty">{empty}</p>;
  return (
    <table class="table">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.key} scope="col" class={lookOf(column)}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map((column) => (
              <td key={column.key} data-title={column.title} class={lookOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
