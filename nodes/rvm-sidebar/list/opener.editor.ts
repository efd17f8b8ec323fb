/**
 * Makes an element a button that opens something, by click, Enter and space.
 * @param opens a dialog elsewhere, or what stands below it
 */
export function makeOpener(
  element: JQuery,
  label: string,
  open: (opener: HTMLElement) => void,
  opens: 'dialog' | 'below' = 'dialog',
): JQuery {
  const act = (): void => {
    const [opener] = element.get();
    if (opener !== undefined) open(opener);
  };
  return element
    .addClass('rvm-opener')
    .attr({ role: 'button', tabindex: 0, 'aria-expanded': 'false', title: label })
    .attr(opens === 'dialog' ? { 'aria-haspopup': 'dialog' } : {})
    .on('click', act)
    .on('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      // The editor has its own use of keys.
      event.preventDefault();
      event.stopPropagation();
      act();
    });
}
