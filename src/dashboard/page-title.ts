// Owns the title of the desk's page: how many conversations wait, and the page that is shown in the inbox's place.
let waiting = 0;
let shown = '';

function write(): void {
  document.title = `${waiting === 0 ? '' : `(${waiting}) `}${shown === '' ? '' : `${shown} · `}Deskbell`;
}

/** So many conversations wait. */
export function titleCount(count: number): void {
  waiting = count;
  write();
}

/** A page other than the inbox is shown. @returns it is shown no more */
export function titlePage(name: string): () => void {
  shown = name;
  write();
  return () => {
    if (shown !== name) return;
    shown = '';
    write();
  };
}
