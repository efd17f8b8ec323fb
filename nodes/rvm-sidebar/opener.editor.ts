/** Makes an element a button that opens the video, by click, Enter and space. */
export function makeOpener(element: JQuery, label: string, open: (opener: HTMLElement) => void): JQuery {
  const act = (): void => {
    const [opener] = element.get();
    if (opener !== undefined) open(opener);
  };
  return element
    .addClass('rvm-opener')
    .attr({ role: 'button', tabindex: 0, 'aria-haspopup': 'dialog', 'aria-expanded': 'false', title: label })
    .on('click', act)
    .on('keydown', (event) => {
      if (event.key !== 'Enter' && event.key !== ' ') return;
      // The editor has its own use of keys.
      event.preventDefault();
      event.stopPropagation();
      act();
    });
}
