// Owns the mark in the page's title: how many messages came while the page was not looked at.

/** @param signal aborted when the widget goes: the title is put back */
export function createTitleBadge(signal: AbortSignal): { add(): void } {
  const mark = /^\(\d+\) /;
  let count = 0;
  const clear = (): void => {
    if (count > 0) document.title = document.title.replace(mark, '');
    count = 0;
  };
  const look = (): void => {
    if (document.visibilityState === 'visible') clear();
  };
  document.addEventListener('visibilitychange', look, { signal });
  signal.addEventListener('abort', clear);
  return {
    add: () => {
      if (document.visibilityState === 'visible') return;
      count++;
      document.title = `(${count}) ${document.title.replace(mark, '')}`;
    },
  };
}
