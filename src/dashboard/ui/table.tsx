// Owns tables. On a narrow page each row stands as a block, with the column's name before each value.
import './form-look.ts';
import type { ComponentChildren, JSX } from 'preact';

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Figures and times stand at the end. */
  readonly end?: boolean;
}

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
          {columns.map(({ key, title, end }) => (
            <th key={key} scope="col" class={end === true ? 'end' : undefined}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map(({ key, title, cell, end }) => (
              <td key={key} data-title={title} class={end === true ? 'end' : undefined}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
